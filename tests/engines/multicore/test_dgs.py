"""The multicore engine equals every oracle at any worker count, batch size and ring size."""

from dataclasses import replace

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.errors import EngineCrashError, EngineError
from engines.multicore.adapter import MulticoreEngine
from engines.multicore.dgs.options import DgsOptions
from engines.multicore.dgs.run import DgsRun
from engines.multicore.run.settings import RunSettings
from engines.protocol import Task
from tests.examples import examples
from workloads.model import (
    Alphabet,
    DGSProgram,
    ForkJoin,
    Input,
    OutputType,
    StateType,
    Stream,
)
from workloads.model.strategies import inputs
from workloads.model.trace import compare
from workloads.registry import NAMES, workload

PROGRAMS = [name for name in NAMES if isinstance(workload(name).program, DGSProgram)]
"""Queries of operators are in test_oplus.py."""


def generated(name, events, seed=3, **given):
    found = workload(name)
    params = found.params(given)
    specs = found.streams(params, events)
    streams = []
    for index, spec in enumerate(specs):
        columns = found.generate(params, seed, specs, index, 0, spec.events)
        payload = {field: values for field, values in columns.items() if field not in ("ts", "tag")}
        streams.append(
            Stream(
                name=spec.name,
                kinds=tuple(sorted(found.program.kind_indices(spec.kinds))),
                ts=columns["ts"],
                tag=columns.get("tag"),
                payload=payload,
            )
        )
    alphabet = Alphabet(kinds=found.program.kinds, keys=found.keys(params))
    return Input(alphabet=alphabet, streams=tuple(streams))


def answer_of(found, data, plan=None, **given):
    run = DgsRun(found.program, data, RunSettings(**given), plan=plan)
    try:
        measured = run.run()
        assert measured.events == data.events
        return run.answer()
    finally:
        run.close()


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_equals_the_oracle_on_any_small_input(name):
    found = workload(name)

    @settings(
        deadline=None, max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow]
    )
    @given(
        inputs(found.program, max_events=20),
        st.integers(1, 8),
        st.sampled_from([1, 2, 3, 100]),
        st.sampled_from([1, 2, 64]),
    )
    def holds(data, workers, batch, ring_blocks):
        answer = answer_of(found, data, workers=workers, batch=batch, ring_blocks=ring_blocks)
        difference = compare(found.oracle(data), answer, found.output)
        assert difference.equal, difference.render()

    holds()


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("workers", [1, 2, 3, 8, 64])
def test_generated_input_gives_one_answer_at_any_parallelism(name, workers):
    found = workload(name)
    data = generated(name, 60_000, streams=3)
    expected = found.oracle(data)
    for batch in (1, 64, 100_000):
        answer = answer_of(found, data, workers=workers, batch=batch)
        difference = compare(expected, answer, found.output)
        assert difference.equal, difference.render()


@pytest.mark.parametrize("gather", [True, False])
def test_a_barrier_for_every_few_values_gives_the_oracles_answer(gather):
    found = workload("event_window")
    values = 2_000_000
    of_one = Stream(
        name="",
        kinds=(0,),
        ts=np.arange(values // 2) * 2,
        payload={"value": np.ones(values // 2, int)},
    )
    every = np.arange(39, values, 40)
    barriers = Stream(name="b", kinds=(1,), ts=every, payload={"value": np.zeros(len(every), int)})
    data = Input(
        alphabet=Alphabet(kinds=found.program.kinds),
        streams=(replace(of_one, name="v0"), replace(of_one, name="v1"), barriers),
    )
    settings = RunSettings(workers=2, batch=4096)
    run = DgsRun(found.program, data, settings, DgsOptions(gather=gather))
    measured = run.run()
    difference = compare(found.oracle(data), run.answer(), found.output)
    run.close()
    assert difference.equal, difference.render()
    assert measured.counters["synchronizations"] == len(every)
    # The first try is always made.
    assert (measured.counters["gatherings"] >= 1) == gather


@pytest.mark.parametrize("name", ["page_view_join", "keyed_counter"])
def test_many_keys_and_few_streams_spread_over_the_workers(name):
    found = workload(name)
    keys = {"pages": 500} if name == "page_view_join" else {"keys": 500}
    data = generated(name, 50_000, streams=1, skew=1.1, **keys)
    run = DgsRun(found.program, data, RunSettings(workers=4, batch=100))
    run.run()
    used = {
        node.worker for tree in run.plan.trees for node in tree.root.walk() if not node.children
    }
    assert used == {0, 1, 2, 3}
    difference = compare(found.oracle(data), run.answer(), found.output)
    assert difference.equal, difference.render()


def test_equal_timestamps_give_the_same_answer_every_time():
    found = workload("keyed_counter")
    rng = np.random.default_rng(5)
    streams = []
    for index in range(4):
        ts = np.sort(rng.integers(0, 40, 3_000))
        tag = (rng.integers(0, 6, 3_000) * 2 + (rng.random(3_000) < 0.1)).astype(np.int32)
        streams.append(Stream(name=f"s{index}", kinds=(0, 1), ts=ts, tag=tag))
    data = Input(alphabet=Alphabet(kinds=found.program.kinds, keys=6), streams=tuple(streams))
    expected = found.oracle(data)
    for repetition in range(8):
        for workers in (2, 3, 4, 6):
            answer = answer_of(found, data, workers=workers, batch=1 + repetition * 7)
            difference = compare(expected, answer, found.output)
            assert difference.equal, difference.render()


def test_the_same_cell_emits_its_dependent_outputs_in_one_order():
    found = workload("event_window")
    data = generated("event_window", 200_000, values_per_barrier=50)
    first = answer_of(found, data, workers=2, batch=1)
    for _ in range(7):
        again = answer_of(found, data, workers=2, batch=1)
        assert all(np.array_equal(first[name], again[name]) for name in first)


def test_memory_does_not_grow_with_the_length_of_the_stream():
    found = workload("event_window")
    process = psutil.Process()
    grown = []
    for events in (2_000_000, 8_000_000):
        data = generated("event_window", events)
        run = DgsRun(found.program, data, RunSettings(workers=2, batch=256))
        before = process.memory_info().rss
        run.run()
        grown.append(process.memory_info().rss - before)
        run.close()
    # The output chunk of each worker is 4 MiB; everything else is bounded by the rings.
    assert max(grown) < 16 << 20, grown


STATE = np.dtype([("total", np.int64), ("last", np.int64), ("history", np.int64, (4,))])
PART = np.dtype([("total", np.int64)])


def _init(state):
    state.last = 7


def _update_root(state, event, out):
    if event.kind == 0:
        state.total += event.amount
    else:
        state.history[event.amount % 4] += state.total
        out.emit(event.ts, state.total + state.last + state.history[0])
        state.last = state.total


def _update_part(state, event, out):
    state.total += event.amount


def _fork(state, pred1, pred2, first, second):
    first.total = state.total
    first.last = state.last
    for i in range(4):
        first.history[i] = state.history[i]


def _fork_parts(state, pred1, pred2, first, second):
    _keep(state)
    first.total = state.total


def _keep(state):
    KEPT[0] = state


def _join(first, second, state):
    state.total = first.total + second.total
    state.last = first.last
    for i in range(4):
        state.history[i] = first.history[i]


KEPT = [None]


def two_state_types():
    return DGSProgram(
        name="two_types",
        kinds=("add", "read"),
        event=np.dtype([("amount", np.int64)]),
        output=np.dtype([("ts", np.int64), ("value", np.int64)]),
        depends=lambda a, b: a.kind == 1 or b.kind == 1,
        states=(
            StateType(name="whole", dtype=STATE, update=_update_root),
            StateType(name="part", dtype=PART, update=_update_part, kinds=frozenset({"add"})),
        ),
        init=_init,
        parallel=(ForkJoin(parent="whole", first="whole", second="part", fork=_fork, join=_join),),
    )


def test_several_state_types_and_nested_arrays_work():
    program = two_state_types()
    found = replace(
        workload("event_window"),
        program=program,
        output=OutputType(kinds=("read",), depends=lambda a, b: True),
    )
    rng = np.random.default_rng(1)

    def stream(name, kind, n):
        amount = {"amount": rng.integers(0, 50, n)}
        return Stream(name=name, kinds=(kind,), ts=np.sort(rng.integers(0, 900, n)), payload=amount)

    data = Input(
        alphabet=Alphabet(kinds=program.kinds),
        streams=(stream("a", 0, 800), stream("b", 0, 700), stream("read", 1, 40)),
    )
    one = answer_of(found, data, workers=1, batch=10)
    two = answer_of(found, data, workers=2, batch=10)
    assert len(one["ts"]) == 40
    assert np.array_equal(one["value"], two["value"])


def test_a_function_that_does_not_compile_is_named_with_its_line():
    program = two_state_types()
    pair = replace(program.parallel[0], fork=_fork_parts)
    found = replace(workload("event_window"), program=replace(program, parallel=(pair,)))
    data = Input(
        alphabet=Alphabet(kinds=program.kinds),
        streams=tuple(
            Stream(name=str(kind), kinds=(kind,), ts=np.arange(3), payload={"amount": np.arange(3)})
            for kind in (0, 0, 1)
        ),
    )
    with pytest.raises(EngineError, match=r"fork function _fork_parts \(.*test_dgs.py:\d+\)"):
        DgsRun(found.program, data, RunSettings(workers=2, batch=1))


def _update_twice(state, event, out):
    out.emit(event.ts, 1)
    out.emit(event.ts, 2)


def test_emitting_more_than_declared_is_an_error_not_a_loss():
    program = DGSProgram(
        name="talkative",
        kinds=("event",),
        event=np.dtype([]),
        output=np.dtype([("ts", np.int64), ("n", np.int64)]),
        depends=lambda a, b: False,
        states=(StateType(name="none", dtype=np.dtype([("x", np.int64)]), update=_update_twice),),
        init=lambda state: None,
        max_outputs_per_event=1,
    )
    found = replace(workload("event_window"), program=program)
    n = 400_000
    stream = Stream(name="s", kinds=(0,), ts=np.arange(n))
    data = Input(alphabet=Alphabet(kinds=("event",)), streams=(stream,))
    with pytest.raises(EngineError, match="max_outputs_per_event"):
        answer_of(found, data, workers=1, batch=1 << 20)
    allowed = replace(found, program=replace(program, max_outputs_per_event=2))
    assert len(answer_of(allowed, data, workers=1, batch=1 << 20)["ts"]) == 2 * n


def _update_that_raises(state, event, out):
    if event.amount >= 40:
        raise ValueError
    state.total += event.amount


def _join_that_raises(first, second, state):
    if first.total + second.total > 100:
        raise ValueError
    state.total = first.total + second.total


@pytest.mark.parametrize("role", ["update", "join"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_function_that_raises_ends_the_run_with_an_error(role):
    program = two_state_types()
    if role == "update":
        part = replace(program.states[1], update=_update_that_raises)
        program = replace(program, states=(program.states[0], part))
    else:
        pair = replace(program.parallel[0], join=_join_that_raises)
        program = replace(program, parallel=(pair,))
    found = replace(workload("event_window"), program=program)

    def stream(name, kind, n):
        amount = {"amount": np.arange(n)}
        return Stream(name=name, kinds=(kind,), ts=np.arange(n), payload=amount)

    data = Input(
        alphabet=Alphabet(kinds=program.kinds),
        streams=(stream("a", 0, 50), stream("b", 0, 50), stream("read", 1, 50)),
    )
    run = DgsRun(found.program, data, RunSettings(workers=2, batch=3))
    with pytest.raises(EngineCrashError, match=f"{role} function raised"):
        run.run()


def test_two_leaves_of_a_tree_on_one_worker_synchronize_each_for_itself():
    # a-b and c-d depend on each other; a and c share streams, b and d share another.
    def depends(first, second):
        pairs = ({0, 1}, {1}, {2, 3}, {3})
        return {first.kind, second.kind} in pairs

    program = DGSProgram(
        name="two_pairs",
        kinds=("a", "b", "c", "d"),
        event=np.dtype([("amount", np.int64)]),
        output=np.dtype([("ts", np.int64), ("kind", np.int8), ("value", np.int64)]),
        depends=depends,
        states=(StateType(name="sums", dtype=SUMS, update=_update_sums),),
        init=_init_sums,
        parallel=(
            ForkJoin(parent="sums", first="sums", second="sums", fork=_fork_sums, join=_join_sums),
        ),
    )
    output = OutputType(
        kinds=("a", "b", "c", "d"), depends=lambda x, y: depends(x, y), kind_field="kind"
    )
    found = replace(workload("event_window"), program=program, output=output)
    rng = np.random.default_rng(2)

    def stream(name, kinds, n):
        return Stream(
            name=name,
            kinds=kinds,
            ts=np.sort(rng.integers(0, 1_000, n)),
            tag=rng.choice(kinds, n).astype(np.int32),
            payload={"amount": rng.integers(0, 99, n)},
        )

    data = Input(
        alphabet=Alphabet(kinds=program.kinds),
        streams=(stream("s0", (0, 2), 500), stream("s1", (0, 2), 500), stream("s2", (1, 3), 60)),
    )
    expected = answer_of(found, data, workers=1, batch=8)
    for workers in (2, 3, 4):
        for batch in (1, 5, 1000):
            answer = answer_of(found, data, workers=workers, batch=batch)
            difference = compare(expected, answer, output)
            assert difference.equal, difference.render()


SUMS = np.dtype([("ac", np.int64), ("c", np.int64)])


def _init_sums(state):
    state.ac = 0


def _update_sums(state, event, out):
    if event.kind == 0:
        state.ac += event.amount
    elif event.kind == 2:
        state.c += event.amount
    elif event.kind == 1:
        out.emit(event.ts, 1, state.ac)
        state.ac = 0
    else:
        out.emit(event.ts, 3, state.c)
        state.c = 0


def _fork_sums(state, pred1, pred2, first, second):
    if pred2[1]:
        second.ac = state.ac
    else:
        first.ac = state.ac
    if pred2[3]:
        second.c = state.c
    else:
        first.c = state.c


def _join_sums(first, second, state):
    state.ac = first.ac + second.ac
    state.c = first.c + second.c


def test_ties_within_streams_of_several_kinds_keep_their_order():
    found = workload("page_view_join")
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def stream(name, rng=rng, n=3_000):
            return Stream(
                name=name,
                kinds=(0, 1),
                ts=np.sort(rng.integers(0, n // 8, n)),
                tag=((rng.random(n) < 0.3) + 2 * rng.integers(0, 2, n)).astype(np.int32),
                payload={
                    "user": rng.integers(0, 99, n).astype(np.int32),
                    "meta": rng.integers(0, 99, n).astype(np.int32),
                },
            )

        alphabet = Alphabet(kinds=found.program.kinds, keys=2)
        data = Input(alphabet=alphabet, streams=(stream("s0"), stream("s1")))
        expected = found.oracle(data)
        for batch in (1, 64, 1000):
            answer = answer_of(found, data, workers=2, batch=batch)
            difference = compare(expected, answer, found.output)
            assert difference.equal, difference.render()


def test_closing_a_run_that_never_ran_ends_its_threads():
    found = workload("event_window")
    before = psutil.Process().num_threads()
    run = DgsRun(found.program, generated("event_window", 10_000), RunSettings(workers=4, batch=64))
    assert psutil.Process().num_threads() == before + 4
    run.close()
    assert psutil.Process().num_threads() == before
    with pytest.raises(EngineError, match="closed"):
        run.answer()


def test_the_end_of_time_is_refused_as_a_timestamp():
    found = workload("event_window")
    stream = Stream(
        name="value-0",
        kinds=(0,),
        ts=np.array([1, np.iinfo(np.int64).max]),
        payload={"value": np.array([1, 2])},
    )
    data = Input(alphabet=Alphabet(kinds=found.program.kinds), streams=(stream,))
    with pytest.raises(EngineError, match="end of time"):
        DgsRun(found.program, data, RunSettings(workers=1, batch=1))


def test_a_payload_of_another_type_is_refused():
    found = workload("event_window")
    stream = Stream(
        name="value-0",
        kinds=(0,),
        ts=np.arange(2),
        payload={"value": np.array([1, 2], dtype=np.int32)},
    )
    data = Input(alphabet=Alphabet(kinds=found.program.kinds), streams=(stream,))
    with pytest.raises(EngineError, match="value is int32"):
        DgsRun(found.program, data, RunSettings(workers=1, batch=1))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"workers": 0}, "between 1 and 64"),
        ({"workers": 65}, "between 1 and 64"),
        ({"variant": "nosuch"}, "no variant 'nosuch'"),
        ({"variant": "vsn"}, "is a DGS program; give variants = ['dgs']"),
        ({"options": {"pinn": True}}, "no option 'pinn'"),
        ({"options": {"pin": 1}}, "takes bool"),
        ({"options": {"ring_blocks": 0}}, "between 1 and"),
    ],
)
def test_what_it_cannot_do_it_says(change, reason, tmp_path):
    task = Task(
        workload=workload("event_window"),
        dataset=None,
        variant="dgs",
        workers=2,
        batch=64,
        scratch=tmp_path,
    )
    assert MulticoreEngine().unsupported(task) is None
    assert reason in MulticoreEngine().unsupported(replace(task, **change))


def test_pinned_threads_give_the_same_answer():
    found = workload("fraud_detection")
    data = generated("fraud_detection", 50_000)
    answer = answer_of(found, data, workers=3, batch=64, pin=True)
    assert compare(found.oracle(data), answer, found.output).equal


def test_latency_is_recorded_for_every_output():
    found = workload("page_view_join")
    data = generated("page_view_join", 50_000)
    run = DgsRun(found.program, data, RunSettings(workers=2, batch=64))
    measured = run.run()
    assert measured.latency is not None
    assert measured.latency.counts.sum() == len(run.answer()["ts"])
    assert (np.diff(measured.latency.values_ns) > 0).all()
