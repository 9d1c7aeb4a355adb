"""Computes the expected predictions from a table of averages, plugs x slices.

Shares no code with the program: it sums loads by sorting, and takes medians of sorted columns.
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
    """The averages so far, plugs x slices; `has_load` is true if a plug had a load in a slice."""

    average_mw: Ints
    has_load: Bools


def oracle(
    data: Input, slice_s: int, days: int, plugs_per_household: int, plugs_per_house: int
) -> Columns:
    """Return the predictions (`NAMES`), by end of a slice, then level, then id."""
    events = total_order(data, FIELDS)
    keys = np.arange(data.alphabet.keys, dtype=np.int64)
    ends = np.flatnonzero(events.kind != LOAD)
    numbers = np.unique(events.ts[ends] // slice_s)
    column = {int(number): index for index, number in enumerate(numbers)}
    shape = (len(keys), len(numbers))
    table = Table(average_mw=np.zeros(shape, np.int64), has_load=np.zeros(shape, np.bool_))
    averages = _averages(events, ends, plugs_per_house)
    parts: list[Columns] = []
    for turn, end in enumerate(ends.tolist()):
        number, ts = int(events.ts[end]) // slice_s, int(events.ts[end])
        plugs = keys
        if events.kind[end] == HOUSE_END:
            plugs = keys[keys // plugs_per_house == events.key[end]]
        plug, average_mw = averages(turn)
        table.average_mw[plug, column[number]] = average_mw
        table.has_load[plug, column[number]] = True
        earlier = [number + 2 - day * (SECONDS_A_DAY // slice_s) for day in range(1, days + 1)]
        earlier_columns = [column[past_number] for past_number in earlier if past_number in column]
        for level, size in enumerate((1, plugs_per_household, plugs_per_house)):
            ids, rows = np.unique(plugs // size, return_inverse=True)
            now_mw, any_now = _sum_averages(table, plugs, [column[number]], rows, len(ids))
            past_mw, any_past = _sum_averages(table, plugs, earlier_columns, rows, len(ids))
            active = np.flatnonzero(any_now[:, 0])
            load_mw = now_mw[active, 0]
            values = (ts, level, ids[active], number + 2, load_mw)
            predicted_mw = _predict(load_mw, past_mw[active], any_past[active])
            parts.append(
                {
                    name: np.broadcast_to(value, len(active))
                    for name, value in zip(NAMES, (*values, predicted_mw), strict=True)
                }
            )
    types = {"level": np.int8, "id": np.int32}
    return {
        name: np.concatenate(
            [np.empty(0, np.int64), *(np.asarray(part[name]) for part in parts)]
        ).astype(types.get(name, np.int64))
        for name in NAMES
    }


def _averages(
    events: Sequence, ends: Ints, plugs_per_house: int
) -> Callable[[int], tuple[Ints, Ints]]:
    """Return a function from an end's index to the plugs of its slice and their averages.

    A load belongs to the first later end that affects all plugs or the plug's house.
    """
    loads = np.flatnonzero(events.kind == LOAD)
    plug = events.key[loads].astype(np.int64)
    turn = np.full(len(loads), len(ends))
    for kind in (SLICE_END, HOUSE_END):
        ends_of_kind = np.flatnonzero(events.kind[ends] == kind)
        house = (
            events.key[ends[ends_of_kind]].astype(np.int64)
            if kind == HOUSE_END
            else ends_of_kind * 0
        )
        plug_house = plug // plugs_per_house if kind == HOUSE_END else plug * 0
        order = np.lexsort((ends[ends_of_kind], house))
        stride = np.int64(len(events.ts) + 1)
        places = house[order] * stride + ends[ends_of_kind][order]
        position = np.searchsorted(places, plug_house * stride + loads)
        closed = np.flatnonzero(position < len(places))
        closed = closed[house[order][position[closed]] == plug_house[closed]]
        turn[closed] = np.minimum(turn[closed], ends_of_kind[order][position[closed]])
    order = np.lexsort((plug, turn))
    turn, plug = turn[order], plug[order]
    load_mw = events.payload["load_mw"].astype(np.int64)[loads][order]
    begins_group = np.ones(len(turn), np.bool_)
    begins_group[1:] = (turn[1:] != turn[:-1]) | (plug[1:] != plug[:-1])
    first = np.flatnonzero(begins_group)
    count = np.diff(np.append(first, len(turn)))
    total_mw = np.add.reduceat(load_mw, first) if len(first) else np.empty(0, np.int64)
    average_mw = (2 * total_mw + count) // (2 * count)
    begins = np.searchsorted(turn[first], np.arange(len(ends) + 1))

    def averages(end: int) -> tuple[Ints, Ints]:
        part = slice(begins[end], begins[end + 1])
        return plug[first][part], average_mw[part]

    return averages


def _sum_averages(
    table: Table, plugs: Ints, columns: list[int], rows: Ints, count: int
) -> tuple[Ints, Bools]:
    """Return the sums of the plugs' averages by row and slice, and whether any of the plugs had a load."""
    place = np.ix_(plugs, np.array(columns, np.int64))
    has_load = table.has_load[place]
    total = np.zeros((count, len(columns)), np.int64)
    np.add.at(total, rows, np.where(has_load, table.average_mw[place], 0))
    any_load = np.zeros((count, len(columns)), np.bool_)
    np.logical_or.at(any_load, rows, has_load)
    return total, any_load


def _predict(load_mw: Ints, past_mw: Ints, has_load: Bools) -> Ints:
    """Return the means of loads and medians of past loads; without past loads, the loads."""
    count = has_load.sum(axis=1)
    ordered = np.sort(np.where(has_load, past_mw, np.iinfo(np.int64).max), axis=1)
    row = np.flatnonzero(count)
    low, high = ordered[row, (count[row] - 1) // 2], ordered[row, count[row] // 2]
    result = load_mw.copy()
    result[row] = (2 * load_mw[row] + low + high + 2) // 4
    return result
