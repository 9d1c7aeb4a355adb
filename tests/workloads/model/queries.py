"""Queries of operators O+ for the tests of the model, and their sorted answers."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model import (
    Input,
    InputType,
    Operator,
    Query,
    Window,
    join,
)
from streamlab.workloads.model.operators.reference import QueryRun
from streamlab.workloads.model.streams.records import rows_to_columns
from streamlab.workloads.model.streams.stream import Columns
from streamlab.workloads.model.streams.total_order import merge
from tests.workloads.model import naive
from tests.workloads.model.naive import TOTALS, Row

PAIRS = np.dtype([("ts", np.int64), ("l", np.int64), ("r", np.int64)])
SHARES = 5


def answer(query: Query, data: Input, **how: Any) -> Columns:
    """The answer in output order; the options are those of `QueryRun`."""
    outputs: list[Row] = []
    run = QueryRun(query, outputs.append, **how)
    for t in merge(data, query).events(query):
        run.process(t)
    run.finish(data.until_ts)
    return rows_to_columns(outputs, query.output)


def rows(query: Query, data: Input, **how: Any) -> list[Row]:
    """The answer, sorted, after checking that it left in order of time."""
    columns = answer(query, data, **how)
    assert {name: column.dtype for name, column in columns.items()} == {
        name: query.output[name] for name in query.output.names or ()
    }
    assert not np.any(np.diff(columns["ts"].astype(object)) < 0)
    return sorted(zip(*(column.tolist() for column in columns.values()), strict=True))


def splits(draw: Any) -> dict[str, Any]:
    """One instance, or several that own the buckets in some way."""
    instances = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 1000))
    return {"instances": instances, "owner": lambda bucket: (bucket + seed) // 3 % instances}


def panes(window: Window) -> Operator:
    """Counts and totals per pane of length WA, shifted by f_S."""
    number = window.size // window.advance

    def update(w: Any, t: Any, out: Any) -> None:
        pane = (t.ts - w[0].left) // window.advance
        w[0].counts[pane] += 1
        w[0].totals[pane] += t.value

    def expire(w: Any, out: Any) -> None:
        if w[0].counts.sum():
            out.emit(w[0].key, int(w[0].counts.sum()), int(w[0].totals.sum()))

    def slide(w: Any) -> None:
        for column in (w[0].counts, w[0].totals):
            column[:-1] = column[1:].copy()
            column[-1] = 0

    return Operator(
        name="panes",
        inputs=naive.input_types(1),
        window=window,
        output=TOTALS,
        state=np.dtype([("counts", np.int64, (number,)), ("totals", np.int64, (number,))]),
        keys=naive.all_keys,
        update=update,
        expire=expire,
        slide=slide,
    )


def joined(window: Window) -> Operator:
    left, right = naive.input_types(2)
    return join(
        name="joined",
        left=left,
        right=right,
        size=window.size,
        advance=window.advance,
        shares=SHARES,
        output=PAIRS,
        match=lambda first, second: first.value <= second.value,
        emit=lambda first, second, out: out.emit(first.value, second.value),
    )


def forwarding(window: Window) -> Operator:
    """Operator 15: a tuple's payload for each of its keys, at once."""

    def update(w: Any, t: Any, out: Any) -> None:
        out.emit(w[0].key, t.input, t.value)

    return Operator(
        name="forwarding",
        inputs=naive.input_types(2),
        window=window,
        output=TOTALS,
        state=np.dtype([]),
        keys=naive.all_keys,
        update=update,
        emits_on_update=True,
    )


def totalling(window: Window) -> Operator:
    """Reads (key, count, total): totals the counts by parity of the key."""

    def keys(t: Any, out: Any) -> None:
        out.add(t.key_ % 2)

    def update(w: Any, t: Any, out: Any) -> None:
        w[0].count += 1
        w[0].total += t.count

    def expire(w: Any, out: Any) -> None:
        out.emit(w[0].key, w[0].count, w[0].total)

    fields = np.dtype([("key_", np.int64), ("count", np.int64), ("total", np.int64)])
    return Operator(
        name="totalling",
        inputs=(InputType(name="totals", fields=fields),),
        window=window,
        output=TOTALS,
        state=np.dtype([("count", np.int64), ("total", np.int64)]),
        keys=keys,
        update=update,
        expire=expire,
    )


def chain(first: Window, second: Window, source: Operator | None = None) -> Query:
    source = source or naive.counting(first)
    names = ["ts", "key_", "count", "total"]
    output = np.dtype([(name, np.int64) for name in names])
    return naive.query(replace(source, output=output), totalling(second))
