"""The expected predictions: a table of averages, a row for each plug and a column for each slice.

Shares nothing with the program: loads are summed by sorting, medians are taken of sorted columns.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import Sequence, total_order
from streamlab.workloads.inputs.homes import FIELDS, HOUSE_END, LOAD, SECONDS_A_DAY, SLICE_END
from streamlab.workloads.model import Columns, Input

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NAMES = ("ts", "level", "id", "slice", "load_mw", "predicted_mw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What has been known so far: averages, and whether there are any; plugs x slices."""

    average_mw: Ints
    known: Bools


def oracle(
    data: Input, slice_s: int, days: int, plugs_per_household: int, plugs_per_house: int
) -> Columns:
    """Return the predictions, by end of a slice, then level, then number."""
    events = total_order(data, FIELDS)
    keys = np.arange(data.alphabet.keys, dtype=np.int64)
    ends = np.flatnonzero(events.kind != LOAD)
    numbers = np.unique(events.ts[ends] // slice_s)
    column = {int(number): index for index, number in enumerate(numbers)}
    shape = (len(keys), len(numbers))
    table = Table(average_mw=np.zeros(shape, np.int64), known=np.zeros(shape, np.bool_))
    averages = _averages(events, ends, plugs_per_house)
    found: list[Columns] = []
    for turn, end in enumerate(ends.tolist()):
        number, ts = int(events.ts[end]) // slice_s, int(events.ts[end])
        plugs = keys
        if events.kind[end] == HOUSE_END:
            plugs = keys[keys // plugs_per_house == events.key[end]]
        plug, average_mw = averages(turn)
        table.average_mw[plug, column[number]] = average_mw
        table.known[plug, column[number]] = True
        earlier = [number + 2 - day * (SECONDS_A_DAY // slice_s) for day in range(1, days + 1)]
        past = [column[one] for one in earlier if one in column]
        for level, size in enumerate((1, plugs_per_household, plugs_per_house)):
            which, rows = np.unique(plugs // size, return_inverse=True)
            now_mw, any_now = _summed(table, plugs, [column[number]], rows, len(which))
            past_mw, any_past = _summed(table, plugs, past, rows, len(which))
            told = np.flatnonzero(any_now[:, 0])
            load_mw = now_mw[told, 0]
            values = (ts, level, which[told], number + 2, load_mw)
            predicted_mw = _predicted(load_mw, past_mw[told], any_past[told])
            found.append(
                {
                    name: np.broadcast_to(value, len(told))
                    for name, value in zip(NAMES, (*values, predicted_mw), strict=True)
                }
            )
    types = {"level": np.int8, "id": np.int32}
    return {
        name: np.concatenate(
            [np.empty(0, np.int64), *(np.asarray(part[name]) for part in found)]
        ).astype(types.get(name, np.int64))
        for name in NAMES
    }


def _averages(
    events: Sequence, ends: Ints, plugs_per_house: int
) -> Callable[[int], tuple[Ints, Ints]]:
    """Return a function from the number of an end to the plugs with loads since the one before.

    An end that a load waits for is the first behind it that concerns all, or the plug's house.
    """
    loads = np.flatnonzero(events.kind == LOAD)
    plug = events.key[loads].astype(np.int64)
    turn = np.full(len(loads), len(ends))
    for kind in (SLICE_END, HOUSE_END):
        its = np.flatnonzero(events.kind[ends] == kind)
        house = events.key[ends[its]].astype(np.int64) if kind == HOUSE_END else its * 0
        wanted = plug // plugs_per_house if kind == HOUSE_END else plug * 0
        order = np.lexsort((ends[its], house))
        stride = np.int64(len(events.ts) + 1)
        places = house[order] * stride + ends[its][order]
        at = np.searchsorted(places, wanted * stride + loads)
        inside = np.flatnonzero(at < len(places))
        inside = inside[house[order][at[inside]] == wanted[inside]]
        turn[inside] = np.minimum(turn[inside], its[order][at[inside]])
    order = np.lexsort((plug, turn))
    turn, plug = turn[order], plug[order]
    load_mw = events.payload["load_mw"].astype(np.int64)[loads][order]
    fresh = np.ones(len(turn), np.bool_)
    fresh[1:] = (turn[1:] != turn[:-1]) | (plug[1:] != plug[:-1])
    first = np.flatnonzero(fresh)
    count = np.diff(np.append(first, len(turn)))
    total_mw = np.add.reduceat(load_mw, first) if len(first) else np.empty(0, np.int64)
    average_mw = (2 * total_mw + count) // (2 * count)
    begins = np.searchsorted(turn[first], np.arange(len(ends) + 1))

    def of(end: int) -> tuple[Ints, Ints]:
        part = slice(begins[end], begins[end + 1])
        return plug[first][part], average_mw[part]

    return of


def _summed(
    table: Table, plugs: Ints, columns: list[int], rows: Ints, count: int
) -> tuple[Ints, Bools]:
    """Return sums of the averages of plugs by row, for some slices, and whether there are any."""
    place = np.ix_(plugs, np.array(columns, np.int64))
    known = table.known[place]
    total = np.zeros((count, len(columns)), np.int64)
    np.add.at(total, rows, np.where(known, table.average_mw[place], 0))
    found = np.zeros((count, len(columns)), np.bool_)
    np.logical_or.at(found, rows, known)
    return total, found


def _predicted(load_mw: Ints, past_mw: Ints, known: Bools) -> Ints:
    """Return half the sum of loads and medians of what is known, or else the loads."""
    count = known.sum(axis=1)
    ordered = np.sort(np.where(known, past_mw, np.iinfo(np.int64).max), axis=1)
    row = np.flatnonzero(count)
    low, high = ordered[row, (count[row] - 1) // 2], ordered[row, count[row] // 2]
    result = load_mw.copy()
    result[row] = (2 * load_mw[row] + low + high + 2) // 4
    return result
