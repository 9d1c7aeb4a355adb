"""The order of outputs that a program implies, which is never stricter than its laws."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.registry import engine
from streamlab.workloads.model import DGSProgram, ModelError, Pipeline, Query, Tag
from streamlab.workloads.model.answers.output_order import emitting_kinds, inferred_output
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.dataflow import (
    Dataflow,
    Flow,
    O,
    OpKeyedOrdered,
    OpStateless,
    U,
    of_events,
)
from streamlab.workloads.registry import names, workload

A, B, C = 0, 1, 2


def outermost(state, event, out):
    if event.kind == A:
        state.n += 1
    else:
        out.emit(event.ts)


def nested(state, event, out):
    if event.kind != A:
        if event.kind == B and state.n > 0:
            out.emit(event.ts)
        elif not (event.kind == B or state.n):
            state.n = 0


def leaves_early(state, event, out):
    if event.kind == A:
        state.n += 1
        return
    if event.kind == B:
        return
    out.emit(event.ts)


def in_a_loop(state, event, out):
    for _ in range(3):
        if event.kind == B:
            out.emit(event.ts)


def by_another_name(state, event, out):
    kind = event.kind
    if kind == B:
        out.emit(event.ts)


def handed_on(state, event, out):
    sink = out
    if event.kind == B:
        sink.emit(event.ts)


def either(state, event, out):
    if event.kind == A or state.n:
        out.emit(event.ts)
    else:
        state.n = 1


def neither(state, event, out):
    if event.kind == A or event.kind == B:
        state.n = 1
    else:
        out.emit(event.ts)


def nothing(state, event, out):
    state.n += 1


def program(
    update=outermost, depends=lambda a, b: a.kind != A or b.kind != A, **more
) -> DGSProgram:
    base = workload("event_window").program
    state = replace(base.states[0], dtype=np.dtype([("n", np.int64)]), update=update)
    return replace(base, kinds=("a", "b", "c"), depends=depends, states=(state,), **more)


@pytest.mark.parametrize(
    ("update", "kinds"),
    [
        (outermost, {B, C}),
        (nested, {B}),
        (leaves_early, {C}),
        (in_a_loop, {A, B, C}),
        (by_another_name, {A, B, C}),
        (handed_on, {A, B, C}),
        (either, {A, B, C}),
        (neither, {C}),
        (nothing, set()),
        (eval("lambda state, event, out: None"), {A, B, C}),
    ],
)
def test_the_kinds_that_emit_are_read_from_the_function_and_never_too_few(update, kinds):
    assert emitting_kinds(program(update)) == kinds


def test_outputs_of_events_that_depend_on_each_other_are_in_order():
    output = inferred_output(program())
    assert output.depends(Tag(0), Tag(0)) and output.key_field is None


def test_outputs_of_events_that_do_not_are_in_no_order():
    output = inferred_output(program(either))
    assert not output.depends(Tag(0), Tag(0)) and not output.sorted


def test_outputs_of_a_keyed_program_are_in_order_for_each_key():
    subject = replace(workload("keyed_counter").program, name="counts")
    output = inferred_output(subject)
    assert output.key_field == "key" and output.kinds == ("counts",)
    assert output.depends(Tag(0, 3), Tag(0, 3)) and not output.depends(Tag(0, 3), Tag(0, 4))


def test_a_key_of_another_name_must_be_declared():
    subject = replace(
        workload("keyed_counter").program,
        output=np.dtype([("ts", np.int64), ("sensor", np.int32), ("count", np.int64)]),
    )
    with pytest.raises(ModelError, match=r"\(ts, sensor, count\) has no field key: .*key_field="):
        inferred_output(subject)
    assert inferred_output(subject, "sensor").key_field == "sensor"
    with pytest.raises(ModelError, match="key_field is 'page', which is not a field"):
        inferred_output(subject, "page")


def family(model: type) -> list[str]:
    return [name for name in names() if isinstance(workload(name).program, model)]


@pytest.mark.parametrize("name", family(DGSProgram))
def test_right_answers_of_a_parallel_run_are_right_under_it(name: str, tmp_path: Path):
    subject = workload(name)
    output = inferred_output(subject.program, subject.output.key_field)
    setting = Setting(variant="dgs", workers=3, batch=16)
    for case in CASES[:2]:
        inferred = replace(subject, output=output)
        found = run_case(engine("multicore"), inferred, case, setting, tmp_path / case.name)
        assert found.problems == ()


PAIR = np.dtype([("ts", np.int64), ("n", np.int64)])


def by_marker(s, key, m, out):
    if s.n > 0:
        out.emit(key, m.ts, s.n)


def before_marker(s, key, m, out):
    out.emit(key, m.ts - 1, s.n)


def marker_that_moves(s, key, m, out):
    m = s
    out.emit(key, m.ts, s.n)


def all_at_once(s, key, m, out):
    pair = (key, m.ts)
    out.emit(*pair, s.n)


def by_another(s, key, m, out):
    other = out
    out.emit(key, m.ts, s.n)
    other.emit(key, s.n, s.n)


def in_a_row(s, key, m, out):
    give = lambda m: out.emit(key, m.ts, s.n)  # noqa: E731, what is asked is whether it is read
    give(s)


def counts(s, key, value, out):
    s.n += 1


def counts_and_gives(s, key, value, out):
    s.n += 1
    out.emit(key, value.ts, s.n)


def graph(on_item=counts, on_marker=by_marker) -> Dataflow:
    flow = Flow("graph", markers=10)
    keyed = OpStateless(
        name="keyed",
        reads=of_events(np.dtype([("n", np.int64)])),
        gives=U("k", PAIR),
        on_item=lambda key, value, out: out.emit(value.n, value.ts, value.n),
    )
    last = OpKeyedOrdered(
        name="last",
        reads=O("k", PAIR),
        gives=O("k", PAIR),
        state=np.dtype([("n", np.int64)]),
        on_item=on_item,
        on_marker=on_marker,
    )
    events = flow.source("event", np.dtype([("n", np.int64)]))
    return flow.gives(flow.add(last, flow.sort(flow.add(keyed, events))))


def test_rows_timed_by_markers_leave_a_graph_in_order_of_time():
    found = inferred_output(graph())
    assert found.sorted and found.key_field == "k"
    assert found.depends(Tag(0, 1), Tag(0, 1)) and not found.depends(Tag(0, 1), Tag(0, 2))


@pytest.mark.parametrize(
    "given",
    [
        {"on_marker": None, "on_item": counts_and_gives},
        {"on_item": counts_and_gives},
        {"on_item": lambda s, key, value, out: None},  # is not read
        *(
            {"on_marker": function}
            for function in (before_marker, marker_that_moves, all_at_once, by_another, in_a_row)
        ),
    ],
)
def test_of_a_graph_that_may_give_other_times_only_the_type_is_known(given):
    assert not inferred_output(graph(**given)).sorted


@pytest.mark.some(4)
@pytest.mark.parametrize("name", family(Dataflow))
def test_right_answers_of_graphs_are_right_under_it(name: str, tmp_path: Path):
    subject = workload(name)
    output = inferred_output(subject.program)
    assert output.sorted == (name not in ("ad_enrichment", "smart_home_prediction"))
    setting = Setting(variant="dataflow", workers=3, batch=16)
    inferred = replace(subject, output=output)
    found = run_case(engine("multicore"), inferred, CASES[0], setting, tmp_path)
    assert found.problems == ()


def test_rows_of_a_block_behind_those_of_the_next_are_out_of_order():
    rows = {"ts": np.array([10, 20]), "k": np.array([1, 2]), "n": np.array([5, 5])}
    swapped = {field: values[::-1].copy() for field, values in rows.items()}
    assert compare(rows, swapped, inferred_output(graph())).out_of_order > 0


@pytest.mark.parametrize("name", family(Query))
def test_inferred_output_of_a_query_is_that_of_the_suite_but_for_keys(name: str):
    declared, found = workload(name).output, inferred_output(workload(name).program)
    assert (found.sorted, found.delay, found.grid) == (True, declared.delay, declared.grid)
    assert not found.depends(Tag(0), Tag(0))


@pytest.mark.parametrize("name", family(Pipeline))
def test_a_pipeline_gives_a_sequence(name: str):
    assert inferred_output(workload(name).program).depends(Tag(0), Tag(0))


def test_a_query_that_emits_early_says_how_much_later_its_outputs_are_timed():
    query = workload("forward").program
    found = inferred_output(query)
    assert (found.sorted, found.delay, found.grid) == (True, 1, 1)
    early = replace(
        query.operators[0], window=replace(query.operators[0].window, advance=3, size=7)
    )
    with pytest.raises(ModelError, match=r"not a multiple of their advance.*output=OutputType"):
        inferred_output(replace(query, operators=(early,)))
