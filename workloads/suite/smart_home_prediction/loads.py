"""The average load of each type of device at each second, and the minute before: by whole columns.

What the oracle and the training of the tree share. It shares nothing with programs and engines.
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
    """One row for each type of device and second that has a value, by device, then second.

    Attributes:
        device: the type.
        second: when.
        load_mw: the average over the plugs that have a value then, rounded, halves up.
        minute_mj: the energy of that second and the 59 before it; where there is no value, none.
    """

    device: Ints
    second: Ints
    load_mw: Ints
    minute_mj: Ints


def loads(given: Columns, longest_gap_s: int) -> Loads:
    """Return the loads of readings (`ts` and fields, in any order)."""
    values = fill(given, longest_gap_s)
    order = np.lexsort((values.second, values.device))
    device, second = values.device[order], values.second[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (device[1:] != device[:-1]) | (second[1:] != second[:-1])
    first = np.flatnonzero(fresh)
    count = np.diff(first, append=len(order))
    total = np.add.reduceat(values.load_mw[order], first) if len(first) else count
    device, second = device[first], second[first]
    load = (2 * total + count) // (2 * count)
    begin = _since(device, second, second - MINUTE_S + 1)
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(load)])
    return Loads(
        device=device,
        second=second,
        load_mw=load,
        minute_mj=upto[np.arange(len(load)) + 1] - upto[begin],
    )


def _since(device: Ints, second: Ints, wanted: Ints) -> Ints:
    """Return, for each row, the first row of its device at or after a second."""
    found = np.zeros(len(device), np.int64)
    begins = np.flatnonzero(np.diff(device, prepend=device[:1] - 1))
    for begin, end in zip(begins, np.append(begins[1:], len(device)), strict=False):
        own = slice(begin, end)
        found[own] = begin + np.searchsorted(second[own], wanted[own])
    return found
