"""Runs programs of all models sequentially, one event at a time, in total order.

This defines the meaning of a program; the reference engine runs it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from streamlab.workloads.model.dataflow import Dataflow
from streamlab.workloads.model.dataflow.reference import FlowRun
from streamlab.workloads.model.dgs.reference import KeyedRun
from streamlab.workloads.model.errors import ModelError, place_of
from streamlab.workloads.model.operators.program import FLUSH, MULTI, Query, Window, arrival_tick_ns
from streamlab.workloads.model.operators.reference import QueryRun
from streamlab.workloads.model.operators.windows import flushed
from streamlab.workloads.model.pipeline.program import Pipeline
from streamlab.workloads.model.pipeline.reference import PipelineRun
from streamlab.workloads.model.streams.records import Emitter, initial_state
from streamlab.workloads.model.streams.stream import Columns, Input, since
from streamlab.workloads.model.streams.total_order import merge
from streamlab.workloads.model.workload import Program


def answer_of(program: Program, data: Input) -> Columns:
    """Return the reference engine's answer: all outputs, in the order of emission.

    Raises:
        ModelError: The program raised; its exception is the cause.
    """
    data = flushed(program, data)
    out = Emitter(program.output)
    last: list[Any] = []
    events = _record_last(merge(data, program).events(program), last)
    try:
        keys = data.alphabet.keys
        apply(program, events, out, count=data.events, until_ts=data.until_ts, keys=keys)
    except Exception as error:
        event_text = f", at the event {last[0]!r:.200}" if last else ""
        raise ModelError(
            f"program {program.name} raised {type(error).__name__}: {error}, in {place_of(error)}{event_text}; "
            "run it under a debugger with the reference engine"
        ) from error
    return out.columns(program.output)


def totals_of(query: Query, data: Input) -> Columns:
    """Return what a query of one operator would answer if one window had all tuples: one row per key, at time 1.

    The results of all windows add up to this answer, for any times of the tuples.

    Raises:
        ModelError: The query raised.
    """
    operator = replace(query.operators[0], window=Window(advance=1, size=1))
    streams = [
        replace(s, ts=np.zeros_like(s.ts), heartbeats=s.heartbeats[:0]) for s in data.streams
    ]
    return answer_of(
        replace(query, operators=(operator,), arrival_tick_ns=None),
        replace(data, streams=tuple(streams), until_ts=None),
    )


def _record_last(events: Iterable[Any], last: list[Any]) -> Iterator[Any]:
    """Yield events; `last` holds the event that was yielded last."""
    for event in events:
        last[:] = (event,)
        yield event


MAX_UPDATES = 100_000
"""Largest product of tuples and windows that `outputs_at_end` processes; takes about a second."""


def outputs_at_end(program: Program, data: Input) -> int | None:
    """Return the number of records that a flush at the input's end adds: the records of the open windows.

    Return None for programs that are not queries, for arrival times, and for cut inputs, which have not ended.
    Return None also if computing the open windows takes more than MAX_UPDATES updates. Multi windows need only the
    tuples within their reach, single windows all tuples.
    """
    if not isinstance(program, Query) or data.until_ts is not None:
        return None
    if arrival_tick_ns(program) is not None:
        return None
    query = replace(program, at_end=FLUSH)
    whole = flushed(query, data)
    if whole.until_ts is None or not any(operator.expire for operator in query.operators):
        return 0
    if all(operator.window.type == MULTI for operator in query.operators):
        # The end is the last time plus the reach, so open windows begin after the last time less the reach.
        begin = whole.until_ts - 1 - 2 * query.reach
        whole = replace(whole, streams=tuple(since(stream, begin) for stream in whole.streams))
    overlaps = sum(-(-each.window.size // each.window.advance) for each in query.operators)
    if whole.events * overlaps > MAX_UPDATES:
        return None
    rows: list[Any] = []
    run = QueryRun(query, rows.append)
    for t in merge(whole, query).events(query):
        run.process(t)
    before = len(rows)
    run.finish(whole.until_ts)
    return len(rows) - before


def apply(
    program: Program,
    events: Iterable[Any],
    out: Emitter,
    *,
    count: int,
    until_ts: int | None,
    keys: int,
) -> None:
    """Process `count` events of `MergedInput.events`; outputs go to `out`.

    Only queries and dataflow graphs use `until_ts`, see `Input.until_ts`.
    """
    if isinstance(program, Query):
        _apply_timed(QueryRun(program, out.rows.append), events, count, until_ts)
    elif isinstance(program, Dataflow):
        _apply_timed(FlowRun(program, out.rows.append), events, count, until_ts)
    elif isinstance(program, Pipeline):
        process = PipelineRun(program, out.rows.append).process
        for t in events:
            process(t)
    elif program.across:
        run = KeyedRun(program, keys)
        for event in events:
            run.process(event, out)
    elif program.keyed:
        update, states = program.states[0].update, dict[int, Any]()
        for event in events:
            state = states.get(event.key)
            if state is None:
                state = states[event.key] = initial_state(program)
            update(state, event, out)
    else:
        update, state = program.states[0].update, initial_state(program)
        for event in events:
            update(state, event, out)


def _apply_timed(
    run: QueryRun | FlowRun, events: Iterable[Any], count: int, until_ts: int | None
) -> None:
    """Process tuples; outputs that the end of the input releases count as outputs of the last tuple."""
    remaining = count
    for t in events:
        run.process(t)
        remaining -= 1
        if not remaining:
            run.finish(until_ts)
