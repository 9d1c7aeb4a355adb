"""Programs with state types and failures of their own on synchronization plans."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.workloads.model import DGSProgram, StateType
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.multicore.dgs_programs import PART, TWO_PAIRS, TWO_TYPES, two_state_types
from tests.engines.multicore.native_runs import check_native, make_run, run_native

WINDOWS = workload("event_window")


def answer_of(found, data, **how):
    return run_native("dgs", found.program, data, **how)[1]


def _fork_parts(state, pred1, pred2, first, second):
    _keep(state)
    first.total = state.total


def _keep(state):
    KEPT[0] = state


KEPT = [None]


def test_several_state_types_and_nested_arrays_work():
    program, output = TWO_TYPES
    found = replace(WINDOWS, program=program, output=output)
    rng = np.random.default_rng(1)

    def stream(kind, n):
        amount = {"amount": rng.integers(0, 50, n)}
        return kind, np.sort(rng.integers(0, 900, n)), amount

    data = input_of(program.kinds, stream(0, 800), stream(0, 700), stream(1, 40))
    first, second = (answer_of(found, data, workers=workers, batch=10) for workers in (1, 2))
    assert len(first["ts"]) == 40
    assert np.array_equal(first["value"], second["value"])


def _update_large(state, event, out):
    if event.kind == 0:
        state.seen[event.value % len(state.seen)] += 1
    else:
        out.emit(event.ts, state.seen[event.value % len(state.seen)])


def test_a_state_may_be_larger_than_the_stack_of_a_thread():
    state = replace(
        WINDOWS.program.states[0],
        dtype=np.dtype([("seen", np.int64, (4_000_000,))]),
        update=_update_large,
    )
    program = replace(WINDOWS.program, states=(state,), init=lambda state: None, parallel=())
    ts = np.arange(1000, dtype=np.int64)
    values = (0, ts, {"value": ts % 10 * 399_999})
    data = input_of(program.kinds, values, (1, ts[-1:], {"value": ts[-1:] * 0}))
    answer = answer_of(replace(WINDOWS, program=program), data, batch=100)
    assert answer["sum"].tolist() == [100]


def test_a_function_that_does_not_compile_is_named_with_its_line():
    program = two_state_types()
    pair = replace(program.parallel[0], fork=_fork_parts)
    three = np.arange(3)
    data = input_of(program.kinds, *((kind, three, {"amount": three}) for kind in (0, 0, 1)))
    with pytest.raises(EngineError, match=r"fork function _fork_parts \(.*programs.py:\d+\)"):
        make_run("dgs", replace(program, parallel=(pair,)), data, workers=2)


def _too_large(state):
    state.sum = 300


def _divides(state):
    state.sum = 1 // 0


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (_too_large, "field sum of window is of type int8 and got 300; compiled code would"),
        (_divides, r"ZeroDivisionError\('integer division or modulo by zero'\)"),
    ],
)
def test_an_init_that_fails_is_named_with_field_value_and_line(init, message):
    small = replace(WINDOWS.program.states[0], dtype=np.dtype([("sum", np.int8)]))
    program = replace(WINDOWS.program, states=(small,), init=init)
    data = input_of(program.kinds, *((kind, [1], {"value": np.array([1])}) for kind in (0, 1)))
    where = rf"{init.__name__} \(.*test_dgs_programs.py:\d+\)"
    with pytest.raises(EngineError, match=f"init raised: {message}.*, in {where}"):
        make_run("dgs", program, data)


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
    found = replace(WINDOWS, program=program)
    n = 400_000
    data = input_of(("event",), (0, np.arange(n), {}))
    with pytest.raises(EngineError, match="max_outputs_per_event"):
        answer_of(found, data, batch=1 << 20)
    few = input_of(("event",), (0, np.arange(7), {}))  # there is room for all
    for batch in (1, 64):
        with pytest.raises(EngineError, match="emitted 7 records beyond"):
            answer_of(found, few, batch=batch)
    allowed = replace(found, program=replace(program, max_outputs_per_event=2))
    assert len(answer_of(allowed, data, batch=1 << 20)["ts"]) == 2 * n


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
    times = np.arange(50)
    data = input_of(program.kinds, *((kind, times, {"amount": times}) for kind in (0, 0, 1)))
    with pytest.raises(EngineCrashError, match=f"{role} function raised"):
        run_native("dgs", program, data, workers=2, batch=3)


def test_two_leaves_of_a_tree_on_one_worker_synchronize_each_for_itself():
    program, output = TWO_PAIRS
    found = replace(WINDOWS, program=program, output=output)
    rng = np.random.default_rng(2)

    def stream(kinds, n):
        columns = {"tag": rng.choice(kinds, n), "amount": rng.integers(0, 99, n)}
        return kinds, np.sort(rng.integers(0, 1_000, n)), columns

    data = input_of(program.kinds, stream((0, 2), 500), stream((0, 2), 500), stream((1, 3), 60))
    expected = answer_of(found, data, batch=8)
    for workers in (2, 3, 4):
        for batch in (1, 5, 1000):
            check_native("dgs", found, data, expected, workers=workers, batch=batch)


def test_ties_within_streams_of_several_kinds_keep_their_order():
    subject = workload("page_view_join")
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def stream(rng=rng, n=3_000):
            columns = {
                "tag": (rng.random(n) < 0.3) + 2 * rng.integers(0, 2, n),
                "user": rng.integers(0, 99, n).astype(np.int32),
                "meta": rng.integers(0, 99, n).astype(np.int32),
            }
            return (0, 1), np.sort(rng.integers(0, n // 8, n)), columns

        data = input_of(subject.program.kinds, stream(), stream(), keys=2)
        expected = subject.oracle(data)
        for batch in (1, 64, 1000):
            check_native("dgs", subject, data, expected, workers=2, batch=batch)


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
    data = input_of(("ask",), (0, np.arange(10), {"amount": np.arange(10)}))
    first, expected = table(), table()[:10].tolist()

    def answer(array):
        return run_native("dgs", _looking_up(array), data)[1]["value"].tolist()

    assert answer(first) == expected
    first *= 2
    assert answer(table()) == expected
