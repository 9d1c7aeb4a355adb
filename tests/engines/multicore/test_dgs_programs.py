"""Programs with state types and failures of their own on synchronization plans."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import (
    Alphabet,
    DGSProgram,
    ForkJoin,
    Input,
    OutputType,
    StateType,
    Stream,
)
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import workload
from tests.engines.multicore.test_dgs import answer_of

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


TWO_TYPES = (two_state_types(), OutputType(kinds=("read",), depends=lambda a, b: True))


def test_several_state_types_and_nested_arrays_work():
    program, output = TWO_TYPES
    found = replace(workload("event_window"), program=program, output=output)
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


def _update_large(state, event, out):
    if event.kind == 0:
        state.seen[event.value % len(state.seen)] += 1
    else:
        out.emit(event.ts, state.seen[event.value % len(state.seen)])


def test_a_state_may_be_larger_than_the_stack_of_a_thread():
    found = workload("event_window")
    state = replace(
        found.program.states[0],
        dtype=np.dtype([("seen", np.int64, (4_000_000,))]),
        update=_update_large,
    )
    program = replace(found.program, states=(state,), init=lambda state: None, parallel=())
    ts = np.arange(1000, dtype=np.int64)
    data = Input(
        alphabet=Alphabet(kinds=program.kinds),
        streams=(
            Stream(name="values", kinds=(0,), ts=ts, payload={"value": ts % 10 * 399_999}),
            Stream(name="barriers", kinds=(1,), ts=ts[-1:], payload={"value": ts[-1:] * 0}),
        ),
    )
    answer = answer_of(replace(found, program=program), data, workers=1, batch=100)
    assert answer["sum"].tolist() == [100]


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
    with pytest.raises(EngineError, match=r"fork function _fork_parts \(.*programs.py:\d+\)"):
        DgsRun(found.program, data, RunSettings(workers=2, batch=1))


def _too_large(state):
    state.sum = 300


def _divides(state):
    state.sum = 1 // 0


@pytest.mark.parametrize(
    ("init", "said"),
    [
        (_too_large, "field sum of window is of type int8 and was given 300; compiled code would"),
        (_divides, r"ZeroDivisionError\('integer division or modulo by zero'\)"),
    ],
)
def test_an_init_that_fails_is_named_with_field_value_and_line(init, said):
    found = workload("event_window").program
    small = replace(found.states[0], dtype=np.dtype([("sum", np.int8)]))
    program = replace(found, states=(small,), init=init)
    one = np.array([1], dtype=np.int64)
    data = Input(
        alphabet=Alphabet(kinds=program.kinds),
        streams=(
            Stream(name="v", kinds=(0,), ts=one, payload={"value": one}),
            Stream(name="b", kinds=(1,), ts=one, payload={"value": one}),
        ),
    )
    where = rf"{init.__name__} \(.*test_dgs_programs.py:\d+\)"
    with pytest.raises(EngineError, match=f"init raised: {said}.*, in {where}"):
        DgsRun(program, data, RunSettings())


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
    few = replace(data, streams=(replace(stream, ts=stream.ts[:7]),))  # there is room for all
    for batch in (1, 64):
        with pytest.raises(EngineError, match="emitted 7 records beyond"):
            answer_of(found, few, workers=1, batch=batch)
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
    program, output = TWO_PAIRS
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


def _depends_in_pairs(first, second):
    # a-b and c-d depend on each other; a and c share streams, b and d share another.
    return {first.kind, second.kind} in ({0, 1}, {1}, {2, 3}, {3})


TWO_PAIRS = (
    DGSProgram(
        name="two_pairs",
        kinds=("a", "b", "c", "d"),
        event=np.dtype([("amount", np.int64)]),
        output=np.dtype([("ts", np.int64), ("kind", np.int8), ("value", np.int64)]),
        depends=_depends_in_pairs,
        states=(StateType(name="sums", dtype=SUMS, update=_update_sums),),
        init=_init_sums,
        parallel=(
            ForkJoin(parent="sums", first="sums", second="sums", fork=_fork_sums, join=_join_sums),
        ),
    ),
    OutputType(kinds=("a", "b", "c", "d"), depends=_depends_in_pairs, kind_field="kind"),
)


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


def _looking_up(table):
    def update(state, event, out):
        out.emit(event.ts, table[event.amount])

    return DGSProgram(
        name="looking_up",
        kinds=("ask",),
        event=np.dtype([("amount", np.int64)]),
        output=np.dtype([("ts", np.int64), ("value", np.int64)]),
        depends=lambda a, b: True,
        states=(StateType(name="none", dtype=PART, update=update),),
        init=lambda state: None,
    )


@pytest.mark.parametrize(
    "table",
    [lambda: np.arange(1 << 18), lambda: np.arange(64)[::2]],
    ids=["large", "not contiguous"],
)
@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_a_kernel_of_an_array_that_changes_is_not_one_of_another_array(table):
    """Numba reads such arrays where they lie; copies of them are of no use to others."""
    payload = {"amount": np.arange(10)}
    stream = Stream(name="ask", kinds=(0,), ts=np.arange(10), payload=payload)
    data = Input(alphabet=Alphabet(kinds=("ask",)), streams=(stream,))
    first, wanted = table(), table()[:10].tolist()
    output = OutputType(kinds=("ask",), depends=lambda a, b: True)

    def answer(array):
        program = _looking_up(array)
        found = replace(workload("event_window"), program=program, output=output)
        return answer_of(found, data, workers=1)["value"].tolist()

    assert answer(first) == wanted
    first *= 2
    assert answer(table()) == wanted
