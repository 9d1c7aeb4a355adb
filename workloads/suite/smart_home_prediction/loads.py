"""Computes the load of each type of device, for the oracle and the training of the tree.

Shares no code with programs and engines.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.inputs.power_readings.gap_filling import fill
from streamlab.workloads.model import Columns

Ints = npt.NDArray[np.int64]
MINUTE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """One row for each type of device and second with a value, by device, then second.

    Attributes:
        device: type of device.
        second: event time.
        load_mw: the average over plugs with a value, rounded, halves up.
        minute_mj: the energy of this second and the 59 seconds before it; seconds without a value
            count as 0.
    """

    device: Ints
    second: Ints
    load_mw: Ints
    minute_mj: Ints


def loads(columns: Columns, longest_gap_s: int) -> Loads:
    """Return the loads of readings (`ts` and fields, in any order)."""
    values = fill(columns, longest_gap_s)
    order = np.lexsort((values.second, values.device))
    device, second = values.device[order], values.second[order]
    begins_group = np.ones(len(order), np.bool_)
    begins_group[1:] = (device[1:] != device[:-1]) | (second[1:] != second[:-1])
    first = np.flatnonzero(begins_group)
    count = np.diff(first, append=len(order))
    total = np.add.reduceat(values.load_mw[order], first) if len(first) else count
    device, second = device[first], second[first]
    load = (2 * total + count) // (2 * count)
    begin = _first_row_since(device, second, second - MINUTE_S + 1)
    energy_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(load)])
    return Loads(
        device=device,
        second=second,
        load_mw=load,
        minute_mj=energy_before[np.arange(len(load)) + 1] - energy_before[begin],
    )


def _first_row_since(device: Ints, second: Ints, start: Ints) -> Ints:
    """Return, for each row, the first row of its device at or after second `start`."""
    first = np.zeros(len(device), np.int64)
    begins = np.flatnonzero(np.diff(device, prepend=device[:1] - 1))
    for begin, end in zip(begins, np.append(begins[1:], len(device)), strict=False):
        rows = slice(begin, end)
        first[rows] = begin + np.searchsorted(second[rows], start[rows])
    return first
