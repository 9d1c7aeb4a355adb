"""Defines the laws that `check` tests on events across keys, in addition to the laws of single keys."""

from collections import Counter
from typing import Any, NoReturn

from hypothesis import strategies as st

from streamlab.workloads.model.dgs.cross_key_events import Across
from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.model.dgs.plan_interpreter import run_plan
from streamlab.workloads.model.dgs.reference import KeyedRun
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.model.dgs.wires import Draw, Semantics
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.records import Emitter
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.model.streams.stream import Columns
from streamlab.workloads.model.streams.total_order import merge

MAX_KEYS = 4
"""Largest number of keys of a drawn input."""
MAX_WORKERS = 4
"""Largest number of workers of a drawn plan."""
MAX_EVENTS = 6
"""Largest number of events of one stream."""


def outputs_are_declared(semantics: Semantics, across: Across, draw: Draw) -> None:
    """Time: an event across keys emits at most the declared records, with its own timestamp."""
    program = semantics.program
    data = draw(inputs(program, max_keys=MAX_KEYS, max_events=MAX_EVENTS))
    groups = across.groups(data.alphabet.keys).tolist()
    run, out = KeyedRun(program, data.alphabet.keys), Emitter(program.output)
    width = len(program.output.names or ())
    lines = []
    for event in merge(data, program).events(program):
        lines.append(f"event {semantics.event_words(event)}")
        run.process(event, out)
        rows = out.take()
        if program.across_of(event.kind) is not across:
            continue
        max_records = across.max_outputs_for(groups.count(event.key))
        if len(rows) > max_records:
            _fail(f"an event emits {len(rows)} records, {max_records} are declared", lines, rows)
        if any(len(row) != width for row in rows):
            _fail(f"an output does not have the declared {width} fields", lines, rows)
        if any(row[0] != event.ts for row in rows):
            law = "an output does not carry the timestamp of the event that caused it"
            _fail(law, lines, rows)


def plans_agree(semantics: Semantics, draw: Draw) -> None:
    """Plans: every plan gives the sequential answer, for any order of events that the plan allows."""
    program = semantics.program
    layout = [(program.kinds[0],), *((kind,) for kind in program.kinds)]
    data = draw(inputs(program, layouts=[layout], max_keys=MAX_KEYS, max_events=MAX_EVENTS))
    workers, rng = draw(st.integers(1, MAX_WORKERS)), draw(st.randoms(use_true_random=False))
    plan = choose_plan(program, data.alphabet, profile(data), workers)
    expected, actual = _rows(answer_of(program, data)), _rows(run_plan(plan, data, rng))
    if expected == actual:
        return
    events = merge(data, program).events(program)
    raise BrokenLawError(
        "a plan gives another answer than the events in sequence",
        (
            *(f"event {semantics.event_words(event)}" for event in events),
            f"only in sequence: {sorted((expected - actual).elements())}",
            f"only with {workers} workers: {sorted((actual - expected).elements())}",
        ),
    )


def _rows(answer: Columns) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(answer[name].tolist() for name in answer), strict=True))


def _fail(law: str, lines: list[str], rows: list[tuple[Any, ...]]) -> NoReturn:
    raise BrokenLawError(law, (*lines, f"outputs of the last: {rows}"))
