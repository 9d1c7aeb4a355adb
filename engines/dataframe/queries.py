"""Computes each DGS workload, and the band join, in NumPy, on one thread."""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.dataframe.streams import Part, Side, Streams, column, ends, run_sums
from streamlab.engines.protocol import IntArray
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT
from streamlab.workloads.suite.scale_join.program import BAND


def event_window(streams: Streams) -> list[Part]:
    """Return one sum per barrier: split each stream at the barriers and sum each run."""
    barriers = streams.ordered_separators()
    sums = np.zeros(len(barriers), np.int64)
    for src, stream in streams.bulk:
        sums += run_sums(column(stream, "value"), ends(barriers, src, stream))
    return [{"ts": barriers.ts, "sum": sums, "src": barriers.src}]


def fraud_detection(streams: Streams) -> list[Part]:
    """Sum between rules, derive a model from each sum, and scan each stream with the current model."""
    rules = streams.ordered_separators("value")
    cuts = {src: ends(rules, src, stream) for src, stream in streams.bulk}
    sums = np.zeros(len(rules), np.int64)
    for src, stream in streams.bulk:
        sums += run_sums(column(stream, "value"), cuts[src])
    models = np.concatenate([[0], (sums + rules.value) % MODULUS])
    kind = np.full(len(rules), AGGREGATE, np.int8)
    parts: list[Part] = [{"ts": rules.ts, "kind": kind, "value": sums, "src": rules.src}]
    for src, stream in streams.bulk:
        value = column(stream, "value")
        model = np.repeat(models, np.diff(cuts[src], prepend=0, append=len(stream)))
        fraud = np.flatnonzero(value % MODULUS == model)
        parts.append(
            {
                "ts": stream.ts[fraud],
                "kind": np.full(len(fraud), FRAUD, np.int8),
                "value": value[fraud],
                "src": np.full(len(fraud), src, np.int16),
            }
        )
    return parts


def keyed_counter(streams: Streams) -> list[Part]:
    """Return one count per reset: find the next reset of each increment's key by binary search, and count."""
    resets = streams.ordered_separators()
    counts = np.zeros(len(resets), np.int64)
    for src, stream in streams.bulk:
        if not len(stream) or not len(resets):
            continue
        # At equal times, events of earlier streams come first.
        last = resets.ts - (resets.src < src)
        first = min(int(last[0]), int(stream.ts[0]))
        span = max(int(last[-1]), int(stream.ts[-1])) - first + 1
        # In an order by key, then time, the next reset of an increment's key comes directly after the increment.
        place = resets.key * span + (last - first)
        order = np.argsort(place, kind="stable")
        key = streams.keys_of(stream).astype(np.int64)
        after = np.searchsorted(place[order], key * span + (stream.ts - first))
        rows_with_reset = np.flatnonzero(after < len(order))
        reset = order[after[rows_with_reset]]
        reset = reset[resets.key[reset] == key[rows_with_reset]]
        counts += np.bincount(reset, minlength=len(resets))
    return [{"ts": resets.ts, "key": resets.key, "count": counts, "src": resets.src}]


def page_view_join(streams: Streams) -> list[Part]:
    """Return updates with the metadata that they replace, and each stream's views with their metadata.

    Applies a table of the current metadata to all views between two updates, with one NumPy call per update and view
    stream. This suits the default of thousands of views between updates. With fewer than about a hundred, one search
    for all views (20 ns a view at 2.6 GHz) would be faster.
    """
    updates = streams.ordered_separators("meta")
    changes = list(zip(updates.key.tolist(), updates.value.tolist(), strict=True))
    table = np.zeros(streams.keys, np.int32)
    replaced_meta = np.empty(len(updates), np.int32)
    for index, (page, meta) in enumerate(changes):
        replaced_meta[index] = table[page]
        table[page] = meta
    parts: list[Part] = [
        {
            "ts": updates.ts,
            "kind": np.full(len(updates), UPDATE, np.int8),
            "page": updates.key.astype(np.int32),
            "user": np.full(len(updates), NO_USER, np.int32),
            "meta": replaced_meta,
            "src": updates.src,
        }
    ]
    for src, stream in streams.bulk:
        pages = streams.keys_of(stream)
        metas = np.empty(len(stream), np.int32)
        table[:] = 0
        begin = 0
        for end, (page, meta) in zip(ends(updates, src, stream).tolist(), changes, strict=True):
            metas[begin:end] = table[pages[begin:end]]
            table[page] = meta
            begin = end
        metas[begin:] = table[pages[begin:]]
        parts.append(
            {
                "ts": stream.ts,
                "kind": np.full(len(stream), VIEW, np.int8),
                "page": pages,
                "user": column(stream, "user"),
                "meta": metas,
                "src": np.full(len(stream), src, np.int16),
            }
        )
    return parts


CHUNK = 4096
"""Left tuples per step; they share a sort of the right tuples within the window of any of them."""

Rows = dict[str, npt.NDArray[Any]]


def scale_join(streams: Streams) -> list[Part]:
    """Return all pairs, ordered by time.

    Sorts the right tuples near in time by their first attribute. A left tuple's partners then lie in a range (21 of
    10,000 values in the benchmark). Binary search finds the range, and the other conditions are tested on its tuples.
    The query does not compare all pairs, because a user who needs the answer would not.
    """
    window = int(str(streams.params["ws_ms"]))
    left = _rows(streams.bulk, ("ts", *(LEFT.names or ())))
    right = _rows(streams.separators, ("ts", *(RIGHT.names or ())))
    pairs = [
        _pairs(left, right, window, begin, min(begin + CHUNK, len(left["ts"])))
        for begin in range(0, len(left["ts"]), CHUNK)
    ]
    empty = np.empty(0, np.int64)
    left_row = np.concatenate([empty, *(rows for rows, _ in pairs)])
    right_row = np.concatenate([empty, *(rows for _, rows in pairs)])
    ts = np.maximum(left["ts"][left_row], right["ts"][right_row]) + 1
    order = np.argsort(ts, kind="stable")
    left_row, right_row = left_row[order], right_row[order]
    part = {name: left[name][left_row] for name in LEFT.names or ()}
    part |= {name: right[name][right_row] for name in RIGHT.names or ()}
    return [{"ts": ts[order], **part, "src": np.zeros(len(ts), np.int16)}]


def _pairs(left: Rows, right: Rows, window: int, begin: int, end: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of left tuples [begin, end), as rows of both sides."""
    first, last = left["ts"][begin] - window, left["ts"][end - 1] + window
    near = slice(*np.searchsorted(right["ts"], [first, last + 1]))
    order = np.argsort(right["a"][near], kind="stable") + near.start
    a = right["a"][order].astype(np.int64)
    x = left["x"][begin:end].astype(np.int64)
    low = np.searchsorted(a, x - BAND, side="left")
    rows = np.searchsorted(a, x + BAND, side="right") - low
    left_row = np.repeat(np.arange(begin, end), rows)
    before = np.cumsum(rows) - rows
    right_row = order[np.arange(rows.sum()) + np.repeat(low - before, rows)]
    match = np.abs(left["y"][left_row] - right["b"][right_row]) <= BAND
    match &= np.abs(left["ts"][left_row] - right["ts"][right_row]) <= window
    return left_row[match], right_row[match]


def _rows(side: Side, names: tuple[str, ...]) -> Rows:
    """Return the streams of a side as one table, ordered by time."""
    rows = {
        name: np.concatenate([s.ts if name == "ts" else column(s, name) for _, s in side])
        for name in names
    }
    order = np.argsort(rows["ts"], kind="stable") if len(side) > 1 else slice(None)
    return {name: values[order] for name, values in rows.items()}
