"""Fills the gaps between readings of a plug to one value a second, for oracles.

Shares no code with programs and engines: it sorts all readings by plug, second and load, takes the least
and greatest load of each second, and interpolates on a line from each reading to the plug's next reading.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.power_readings.schema import FIELDS
from streamlab.workloads.model import Columns, Input

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GapValues:
    """Filled-in values by plug, then second: columns of equal length.

    Attributes:
        plug: the plug.
        device: its type of device, from the reading that ends the line.
        second: event time of the value.
        load_mw: the load in milliwatts.
        end_ts: event time of the reading that ends the line; before that time the value is not available.
    """

    plug: Ints
    device: Ints
    second: Ints
    load_mw: Ints
    end_ts: Ints


def readings(data: Input) -> Columns:
    """Return `ts` and the fields of all readings, in total order, as int64."""
    events = total_order(data, FIELDS)
    return {
        "ts": events.ts,
        **{name: values.astype(np.int64) for name, values in events.payload.items()},
    }


def fill(columns: Columns, longest_gap_s: int) -> GapValues:
    """Return a value for every second from each plug's first reading to its last.

    Of several readings in a second, the smallest ends the previous line and the largest begins the
    next line. Gaps above `longest_gap_s` stay empty.
    """
    names = ("plug", "ts", "watts", "device")
    plug, ts, watts, device = (np.asarray(columns[name]).astype(np.int64) for name in names)
    order = np.lexsort((device, watts, ts, plug))
    plug, ts, load, device = plug[order], ts[order], watts[order] * 1000, device[order]
    begins_second = np.ones(len(ts), np.bool_)
    begins_second[1:] = (plug[1:] != plug[:-1]) | (ts[1:] != ts[:-1])
    first = np.flatnonzero(begins_second)
    last = np.append(first[1:], len(ts))[: len(first)] - 1
    smallest, largest = load[first], load[last]
    plug, ts, device = plug[first], ts[first], device[first]
    length = np.diff(ts, prepend=ts[:1])
    from_mw = np.concatenate([largest[:1], largest[:-1]])
    has_no_line = (length > longest_gap_s) | (length == 0)
    has_no_line[1:] |= plug[1:] != plug[:-1]
    has_no_line[:1] = True
    length = np.where(has_no_line, 1, length)
    from_mw = np.where(has_no_line, smallest, from_mw)
    row = np.repeat(np.arange(len(first)), length)
    step = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length) + 1
    seconds = length[row]
    exact = 2 * (from_mw[row] * (seconds - step) + smallest[row] * step)
    return GapValues(
        plug=plug[row],
        device=device[row],
        second=ts[row] - seconds + step,
        load_mw=(exact + seconds) // (2 * seconds),
        end_ts=ts[row],
    )
