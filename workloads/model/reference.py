"""Runs programs of all models sequentially, one event at a time, in total order.

This defines the meaning of a program; the reference engine runs it.
"""

from collections.abc import Iterable
from typing import Any

from streamlab.workloads.model.dataflow import Dataflow
from streamlab.workloads.model.dataflow.reference import FlowRun
from streamlab.workloads.model.dgs.reference import KeyedRun
from streamlab.workloads.model.errors import ModelError, place_of
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.operators.reference import QueryRun
from streamlab.workloads.model.pipeline.program import Pipeline
from streamlab.workloads.model.pipeline.reference import PipelineRun
from streamlab.workloads.model.streams.records import Emitter, initial_state
from streamlab.workloads.model.streams.stream import Columns, Input
from streamlab.workloads.model.streams.total_order import merge
from streamlab.workloads.model.workload import Program


def answer_of(program: Program, data: Input) -> Columns:
    """Return the reference engine's answer: all outputs, in the order of emission.

    Raises:
        ModelError: The program raised; its exception is the cause.
    """
    out = Emitter(program.output)
    events = merge(data, program).events(program)
    try:
        keys = data.alphabet.keys
        apply(program, events, out, count=data.events, until_ts=data.until_ts, keys=keys)
    except Exception as error:
        raise ModelError(
            f"program {program.name} raised {type(error).__name__}: {error}, in {place_of(error)}; "
            "run it under a debugger with the reference engine"
        ) from error
    return out.columns(program.output)


def apply(
    program: Program,
    events: Iterable[Any],
    out: Emitter,
    *,
    count: int,
    until_ts: int | None,
    keys: int,
) -> None:
    """Process `count` events of `Merged.events`; outputs go to `out`.

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
    """Process tuples; outputs that the end of the input releases count as outputs of the last one."""
    left = count
    for t in events:
        run.process(t)
        left -= 1
        if not left:
            run.finish(until_ts)
