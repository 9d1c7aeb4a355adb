"""Small inputs of power readings, and a way of filling them in that is as plain as can be."""

from collections import defaultdict
from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.inputs.power_readings.schema import FIELDS
from streamlab.workloads.model import Alphabet, Input, Stream
from tests.workloads.suite.streams import in_order

FORMS = ("typed", "handcrafted")
Reading = tuple[int, int, int, int]
"""(ts, plug, device, watts)."""


def input_of(*streams: list[Reading], until_ts: int | None = None) -> Input:
    """Return readings as an input; each stream is sorted here."""
    made = []
    for index, given in enumerate(streams):
        rows = sorted(given, key=lambda reading: reading[0])
        columns = dict(
            zip(("ts", "plug", "device", "watts"), zip(*rows, strict=True), strict=False)
        )
        payload = {
            name: np.array(columns.get(name, [0] * len(rows)), FIELDS[name])
            for name in FIELDS.names or ()
        }
        ts = np.array(columns.get("ts", ()), np.int64)
        made.append(Stream(name=f"reading-{index}", kinds=(0,), ts=ts, payload=payload))
    return Input(
        alphabet=Alphabet(kinds=("reading",), keys=1), streams=tuple(made), until_ts=until_ts
    )


_READINGS = st.lists(
    st.tuples(st.integers(-3, 40), st.integers(0, 2), st.integers(0, 2), st.integers(0, 5)),
    max_size=14,
)


def power_inputs() -> st.SearchStrategy[Input]:
    """Inputs with ties, gaps, silent plugs, empty streams and times below zero."""
    return st.lists(_READINGS, min_size=1, max_size=3).map(lambda streams: input_of(*streams))


def half_up(value: Fraction) -> int:
    """Round to the nearest whole number, halves up."""
    return floor(value + Fraction(1, 2))


Value = tuple[int, int, int, int]
"""(second, load in milliwatts, device, second of the reading that it was filled in for)."""


def filled(given: list[Reading], longest_gap_s: int) -> dict[int, list[Value]]:
    """Return the values of each plug, a second at a time, by exact fractions."""
    seconds: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for ts, plug, device, watts in given:
        seconds[plug][ts].append((watts * 1000, device))
    found: dict[int, list[Value]] = defaultdict(list)
    for plug, loads in seconds.items():
        before: tuple[int, int] | None = None
        for ts in sorted(loads):
            least, device = min(loads[ts])
            if before is None or ts - before[0] > longest_gap_s:
                found[plug].append((ts, least, device, ts))
            else:
                start, from_mw = before
                slope = Fraction(least - from_mw, ts - start)
                found[plug] += [
                    (second, half_up(from_mw + slope * (second - start)), device, ts)
                    for second in range(start + 1, ts + 1)
                ]
            before = ts, max(loads[ts])[0]
    return found


def readings_of(data: Input) -> list[Reading]:
    """Return all readings in total order."""
    return [(ts, row["plug"], row["device"], row["watts"]) for ts, _, _, row in in_order(data)]


def markers(given: list[Reading], period: int, until_ts: int | None) -> list[int]:
    """Return the markers of an input, tried one by one."""
    if not given:
        return []
    first, last = given[0][0], given[-1][0] if until_ts is None else until_ts - 1
    return [ts for ts in range(first + 1, last + 1) if ts % period == 0]
