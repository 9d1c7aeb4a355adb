"""What the oracles share: the readings of each plug, filled in to one value a second.

Shares nothing with programs and engines. All readings are sorted by plug, second and load; then the
least and the greatest load of each second are taken, and the lines between neighbours drawn.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.power_readings.schema import FIELDS
from streamlab.workloads.model import Columns, Input

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Values of plugs, by plug, then second: columns of one length.

    Attributes:
        plug: whose.
        device: its type of device, in the reading that the line leads to.
        second: when the plug had that load.
        load_mw: the load.
        known_ts: the second of the reading that the line leads to: no line is known before.
    """

    plug: Ints
    device: Ints
    second: Ints
    load_mw: Ints
    known_ts: Ints


def readings(data: Input) -> Columns:
    """Return all readings in order of time, `ts` and the fields, as int64."""
    found = total_order(data, FIELDS)
    return {
        "ts": found.ts,
        **{name: values.astype(np.int64) for name, values in found.payload.items()},
    }


def known_until(data: Input, ts: Ints) -> int:
    """Return up to when an input is known, whose events have these times, at least one."""
    return int(ts[-1]) if data.until_ts is None else data.until_ts - 1


def fill(given: Columns, longest_gap_s: int) -> Filled:
    """Return the values of the seconds from each plug's first reading to its last.

    The first of several readings of a second, in order of load, ends the line before; the last one
    begins the next line. No line is longer than `longest_gap_s`: after a longer gap only the
    reading itself is there.
    """
    names = ("plug", "ts", "watts", "device")
    plug, ts, watts, device = (np.asarray(given[name]).astype(np.int64) for name in names)
    order = np.lexsort((device, watts, ts, plug))
    plug, ts, load, device = plug[order], ts[order], watts[order] * 1000, device[order]
    fresh = np.ones(len(ts), np.bool_)
    fresh[1:] = (plug[1:] != plug[:-1]) | (ts[1:] != ts[:-1])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(ts))[: len(first)] - 1
    least, greatest = load[first], load[last]
    plug, ts, device = plug[first], ts[first], device[first]
    length = np.diff(ts, prepend=ts[:1])
    from_mw = np.concatenate([greatest[:1], greatest[:-1]])
    alone = (length > longest_gap_s) | (length == 0)
    alone[1:] |= plug[1:] != plug[:-1]
    alone[:1] = True
    length = np.where(alone, 1, length)
    from_mw = np.where(alone, least, from_mw)
    row = np.repeat(np.arange(len(first)), length)
    step = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length) + 1
    seconds = length[row]
    exact = 2 * (from_mw[row] * (seconds - step) + least[row] * step)
    return Filled(
        plug=plug[row],
        device=device[row],
        second=ts[row] - seconds + step,
        load_mw=(exact + seconds) // (2 * seconds),
        known_ts=ts[row],
    )
