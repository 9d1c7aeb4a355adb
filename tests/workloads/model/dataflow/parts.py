"""Small operators of every template, over one type of values, and graphs of them, for tests."""

from dataclasses import replace
from typing import Any

import numpy as np

from streamlab.workloads.model import Alphabet, Columns, Input, Stream
from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    FlowOperator,
    O,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
    U,
)
from streamlab.workloads.model.reference import answer_of

READING = np.dtype([("plug", np.int32), ("load", np.int64)])
LOAD = np.dtype([("ts", np.int64), ("load", np.int64)])
EVENT = np.dtype([("ts", np.int64), *((name, READING[name]) for name in READING.names or ())])
TOTAL = np.dtype([("total", np.int64), ("count", np.int64)])
LAST = np.dtype([("ts", np.int64), ("load", np.int64), ("seen", np.int64)])

READINGS = U(None, EVENT)
LOADS = U("plug", LOAD)
ORDERED_LOADS = O("plug", LOAD)


def positive(key: Any, value: Any, out: Any) -> None:
    """JFM: filters, and takes the key out of the value."""
    if value.load > 0:
        out.emit(value.plug, value.ts, value.load)


def fill(s: Any, key: Any, value: Any, out: Any) -> None:
    """LI: what is missing between two loads of a plug, by linear interpolation in integers."""
    if s.seen == 0:
        out.emit(key, value.ts, value.load)
    else:
        dt = value.ts - s.ts
        for i in range(1, dt + 1):
            out.emit(key, s.ts + i, s.load + i * (value.load - s.load) // dt)
    s.seen = 1
    s.ts = value.ts
    s.load = value.load


def one(a: Any, key: Any, value: Any) -> None:
    a.total = value.load
    a.count = 1


def both(x: Any, y: Any, into: Any) -> None:
    into.total = x.total + y.total
    into.count = x.count + y.count


def add(s: Any, agg: Any) -> None:
    s.total += agg.total
    s.count += agg.count


def mean(s: Any, key: Any, m: Any, out: Any) -> None:
    """AVG: of all loads of a plug so far."""
    if s.count > 0:
        out.emit(key, m.ts, s.total // s.count)


JFM = OpStateless(name="jfm", reads=READINGS, gives=LOADS, on_item=positive)
LI = OpKeyedOrdered(
    name="li",
    reads=ORDERED_LOADS,
    gives=ORDERED_LOADS,
    state=LAST,
    on_item=fill,
    max_outputs=1000,
)
AVG = OpKeyedUnordered(
    name="avg",
    reads=LOADS,
    gives=LOADS,
    aggregate=TOTAL,
    state=TOTAL,
    take=one,
    combine=both,
    update_state=add,
    on_marker=mean,
)


def averages(markers: int = 10) -> Dataflow:
    """Return the pipeline of section 2 of the paper, with SORT where it belongs."""
    flow = Flow("averages", markers=markers)
    readings = flow.source("reading", READING)
    filled = flow.add(LI, flow.sort(flow.add(JFM, readings)))
    return flow.gives(flow.add(AVG, filled))


def alone(operator: FlowOperator, markers: int = 10) -> Dataflow:
    """Return the graph of one operator that reads `READINGS`."""
    flow = Flow("alone", markers=markers)
    return flow.gives(flow.add(operator, flow.source("reading", READING)))


def of_loads(*operators: FlowOperator, markers: int = 10) -> Dataflow:
    """Return JFM and operators behind it in a row, sorted where they read O."""
    flow = Flow("row", markers=markers)
    last = flow.add(JFM, flow.source("reading", READING))
    given = LOADS
    for operator in operators:
        if operator.reads.ordered and not given.ordered:
            last = flow.sort(last)
        last = flow.add(operator, last)
        given = operator.gives
    return flow.gives(last)


PASS = OpKeyedOrdered(
    name="pass",
    reads=ORDERED_LOADS,
    gives=ORDERED_LOADS,
    state=np.dtype([("n", np.int64)]),
    on_item=lambda s, key, value, out: out.emit(key, value.ts, value.load),
)


def split_by_plug(common: int | None = None) -> Dataflow:
    """Return a graph that orders odd and even plugs apart, and merges them; `common`: a plug of both."""
    flow = Flow("split", markers=10)
    source = flow.source("reading", READING)
    parts = []
    for part in (0, 1):

        def of_part(key: Any, value: Any, out: Any, part: int = part) -> None:
            if value.plug % 2 != part or value.plug == common:
                out.emit(value.plug, value.ts, value.load)

        loads = flow.add(replace(JFM, name=f"jfm{part}", on_item=of_part), source)
        parts.append(flow.add(replace(PASS, name=f"pass{part}"), flow.sort(loads)))
    return flow.gives(flow.add(replace(PASS, name="both"), *parts, disjoint_keys=True))


def readings(*rows: tuple[int, int, int], until_ts: int | None = None) -> Input:
    """Return an input of one stream: (ts, plug, load) each."""
    return Input(
        alphabet=Alphabet(kinds=("reading",)), streams=(stream(0, *rows),), until_ts=until_ts
    )


def stream(kind: int, *rows: tuple[int, int, int]) -> Stream:
    """Return a stream of one kind: (ts, plug, load) each."""
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return Stream(
        name=f"stream-{kind}",
        kinds=(kind,),
        ts=np.array(columns[0], dtype=np.int64),
        payload={
            "plug": np.array(columns[1], dtype=np.int32),
            "load": np.array(columns[2], dtype=np.int64),
        },
    )


def rows(columns: Columns) -> list[tuple[Any, ...]]:
    """Return an answer as tuples."""
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def answer(flow: Dataflow, data: Input) -> list[tuple[Any, ...]]:
    """Return the sequential answer as tuples: `ts`, the key unless it is the unit, the rest."""
    return rows(answer_of(flow, data))
