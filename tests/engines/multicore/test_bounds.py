"""An index that an array does not have ends a run and is named, in whatever function.

Without `bounds`, it would be read or written outside of the array: nothing here runs that.
"""

import inspect
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.adapter import FAMILIES
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.kernels import compile as compiling
from streamlab.engines.multicore.kernels.exceptions import collect_exceptions
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import (
    DGSProgram,
    ForkJoin,
    InputType,
    Operator,
    Pipeline,
    Query,
    StateType,
    Window,
    partitioned,
    stateless,
)
from streamlab.workloads.model.arrays import copy
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.reference import answer_of
from tests.engines.inputs import input_of
from tests.engines.multicore.native_runs import option_error, run_native

VALUE = np.dtype([("x", np.int64)])
RESULT = np.dtype([("ts", np.int64), ("x", np.int64)])
KEPT = np.dtype([("items", np.int64, (3,)), ("grid", np.int32, (2, 3)), ("seen", np.int64)])
TABLE = np.arange(3)


def nothing(state, *_):
    state.seen += 1


# Functions with one array index each; which one `at` says. The line that has it ends in HERE.


def at(items, x):
    return items[x]  # HERE of at


def add_to(state, event, out):
    state.items[event.x] += 1  # HERE of add_to
    out.emit(event.ts, state.items[0])


def set_in_grid(state, event, out):
    state.grid[1, event.x] = 7  # HERE of set_in_grid


def set_in_row(state, event, out):
    row = state.grid[1]
    row[event.x] = 7  # HERE of set_in_row


def read_by_function(state, event, out):
    state.seen += at(state.items, event.x)


compiled_at = njit(at)


def read_by_compiled_function(state, event, out):
    state.seen += compiled_at(state.items, event.x)


def read_constants(state, event, out):
    out.emit(event.ts, TABLE[event.x])  # HERE of read_constants


def see(state, event, out):
    state.seen = max(state.seen, event.x)


def fork_by(state, pred1, pred2, first, second):
    first.items[:] = state.items
    second.items[state.seen] = 0  # HERE of fork_by


def copy_first(state, pred1, pred2, first, second):
    first.items[:] = state.items
    first.seen = state.seen


def keep_first(first, second, state):
    state.seen = max(first.seen, second.seen)


def join_by(first, second, state):
    state.items[first.seen] = second.seen  # HERE of join_by


def depends(first, second):
    return first.kind == 1 or second.kind == 1


def program(update=see, fork=copy_first, join=keep_first):
    return DGSProgram(
        name="indexing",
        kinds=("value", "barrier"),
        event=VALUE,
        output=RESULT,
        depends=depends,
        states=(StateType(name="kept", dtype=KEPT, update=update),),
        init=lambda state: None,
        parallel=(ForkJoin(parent="kept", first="kept", second="kept", fork=fork, join=join),),
    )


def one_key(t, out):
    out.add(t.x)


def key_of_table(t, out):
    out.add(TABLE[t.x])  # HERE of key_of_table


def by_table(key):
    return TABLE[key]  # HERE of by_table


def add_to_window(w, t, out):
    w[0].items[t.x] += 1  # HERE of add_to_window


def see_in_window(w, t, out):
    w[0].seen = max(w[0].seen, t.x)


def expire_by(w, out):
    out.emit(w[0].items[w[0].seen])  # HERE of expire_by


def slide_by(w):
    w[0].items[w[0].seen] = 0  # HERE of slide_by


def query(**functions):
    operator = Operator(
        name="indexing",
        inputs=(InputType(name="value", fields=VALUE),),
        window=Window(advance=10, size=10, type=SINGLE),
        output=RESULT,
        state=KEPT,
        buckets=8,
        **{"keys": one_key, "update": see_in_window, **functions},
    )
    return Query(name="indexing", operators=(operator,))


def forward(t, out):
    out.emit(t.x)


def forward_from_table(t, out):
    out.emit(TABLE[t.x])  # HERE of forward_from_table


def key_by_table(t):
    return TABLE[t.x]  # HERE of key_by_table


def key_by_x(t):
    return t.x


def count(s, t, out):
    s.seen += 1


def count_in_items(s, t, out):
    s.items[t.x] += 1  # HERE of count_in_items


def pipeline(*stages):
    return Pipeline(name="indexing", record="value", event=VALUE, stages=stages)


def keyed(apply=count, key=key_by_x):
    return partitioned(name="keyed", output=RESULT, key=key, state=KEPT, apply=apply)


FIRST = stateless(name="first", output=RESULT, apply=forward)
CASES = {
    "update": ("dgs", program(add_to), add_to, "state.items"),
    "tuple": ("dgs", program(set_in_grid), set_in_grid, "state.grid"),
    "row": ("dgs", program(set_in_row), set_in_row, "state.grid[...]"),
    "called": ("dgs", program(read_by_function), at, "items"),
    "compiled": ("dgs", program(read_by_compiled_function), at, "items"),
    "constants": ("dgs", program(read_constants), read_constants, "TABLE"),
    "fork": ("dgs", program(fork=fork_by), fork_by, "second.items"),
    "join": ("dgs", program(join=join_by), join_by, "state.items"),
    "vsn keys": ("vsn", query(keys=key_of_table), key_of_table, "TABLE"),
    "vsn bucket": ("vsn", query(bucket=by_table), by_table, "TABLE"),
    "vsn update": ("vsn", query(update=add_to_window), add_to_window, "w[...].items"),
    "vsn expire": ("vsn", query(expire=expire_by), expire_by, "w[...].items"),
    "vsn slide": ("vsn", query(slide=slide_by), slide_by, "w[...].items"),
    "sn keys": ("sn", query(keys=key_of_table), key_of_table, "TABLE"),
    "sn update": ("sn", query(update=add_to_window), add_to_window, "w[...].items"),
    "graph update": ("layers", query(update=add_to_window), add_to_window, "w[...].items"),
    "stateless": (
        "ordered",
        pipeline(stateless(name="first", output=RESULT, apply=forward_from_table)),
        forward_from_table,
        "TABLE",
    ),
    "partitioned": ("ordered", pipeline(FIRST, keyed(count_in_items)), count_in_items, "s.items"),
    "key": ("ordered", pipeline(FIRST, keyed(key=key_by_table)), key_by_table, "TABLE"),
    "graph": ("layers", pipeline(FIRST, keyed(count_in_items)), count_in_items, "s.items"),
}


def of_values(xs, asked):
    """Return a stream of values, time going up by one; of a program two, and one of barriers."""
    ts = np.arange(len(xs))
    streams = [(0, ts, {"x": np.array(xs, dtype=np.int64)})]
    if len(asked.kinds) > 1:
        streams += [streams[0], (1, ts[::7], {"x": np.zeros_like(ts[::7])})]
    return input_of(asked.kinds, *streams)


def run(variant, asked, data, **how):
    return run_native(variant, asked, data, **{"workers": 2, "batch": 4, "pin": False, **how})[1]


def place(function):
    lines, first = inspect.getsourcelines(function)
    (at_line,) = (n for n, line in enumerate(lines, first) if "# HERE of" in line)
    return f"{function.__name__} (tests/engines/multicore/test_bounds.py:{at_line})"


BY_MOST = {"fork", "join", "vsn expire", "vsn slide"}
"""Their index is the highest that there was."""


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize(("index", "workers"), [(5, 1), (100_000, 2), (-4, 2)])
@pytest.mark.parametrize("case", CASES)
def test_an_index_out_of_bounds_is_named(case, index, workers):
    if case in BY_MOST and index < 0:
        index = 3
    if case in {"fork", "join"}:
        workers = 2  # one worker has nothing to fork
    variant, asked, function, array = CASES[case]
    xs = [n % 3 for n in range(60)]
    xs[33] = index
    with pytest.raises(EngineCrashError) as raised:
        run(variant, asked, of_values(xs, asked), workers=workers)
    message = str(raised.value)
    assert f": OutOfBoundsError: {array}: index {index} is out of bounds for axis" in message
    assert message.endswith(f"with size 3, in {place(function)}")


def narrow(state, event, out):
    state.items[np.int32(event.x)] = 1


def unsigned(state, event, out):
    state.items[np.uint64(event.x)] = 1


@pytest.mark.parametrize(
    ("update", "given", "index"), [(narrow, -4, -4), (unsigned, 5, 5), (unsigned, -4, 2**64 - 4)]
)
def test_an_index_is_named_as_the_type_that_it_has(update, given, index):
    asked = program(update)
    with pytest.raises(EngineCrashError, match=f"index {index} is out of bounds for axis 0"):
        run("dgs", asked, of_values([1, given], asked))


@pytest.mark.some(4)
@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("case", ["update", "tuple", "constants", "vsn update", "partitioned"])
def test_an_index_below_zero_counts_from_the_end_as_in_python(case, bounds):
    variant, asked, _, _ = CASES[case]
    data = of_values([n % 6 - 3 for n in range(60)], asked)
    data = replace(data, streams=data.streams[:1])  # whose events' outputs have an order
    answer = run(variant, asked, data, workers=1, bounds=bounds)
    expected = answer_of(asked, data)
    for name in expected:
        assert answer[name].tolist() == expected[name].tolist()


def fill(state, event, out):
    # Slices end where an array ends, and a size of its own is an array's too.
    state.items[1:99] = event.x
    made = np.zeros(event.x + 1, np.int64)
    made[event.x] = 2
    out.emit(event.ts, state.items[-1] + made[-1] + len(state.items[5:]))


def test_slices_and_arrays_that_a_function_makes_are_within_bounds():
    asked = program(fill)
    data = of_values([n % 7 for n in range(60)], asked)
    assert run("dgs", asked, data)["x"].tolist() == answer_of(asked, data)["x"].tolist()


def copied(state, event, out):
    for i in range(len(state.items)):
        state.items[i] = event.x + i
    made = np.zeros(len(state.items) + event.x // 100, np.int64)
    copy(state.items, made)
    out.emit(event.ts, made[0] + 10 * made[1] + 100 * made[2])


@pytest.mark.parametrize("bounds", [False, True])
def test_an_array_is_copied_to_one_of_its_length_and_to_no_other(bounds):
    asked = program(copied)
    data = of_values([n % 7 for n in range(60)], asked)
    given = run("dgs", asked, data, bounds=bounds)
    assert given["x"].tolist() == answer_of(asked, data)["x"].tolist()
    with pytest.raises(EngineCrashError, match="ValueError: cannot copy an array into one"):
        run("dgs", asked, of_values([100], asked), bounds=bounds)


def pick(state, event, out):
    out.emit(event.ts, state.items[np.array([0, event.x])].sum())


def test_an_index_that_cannot_be_checked_is_refused():
    with pytest.raises(EngineError, match=r"state\.items is indexed by an array, in pick \("):
        run("dgs", program(pick), of_values([1], program(pick)))


def take(state, event, out):
    out.emit(event.ts, state.items.take(event.x))


def test_numba_checks_the_indices_of_numpy_look_ups():
    asked = program(take)
    with pytest.raises(EngineCrashError, match="update function raised an exception: IndexError"):
        run("dgs", asked, of_values([1, 5], asked))


def refuse(state, event, out):
    if event.x == 5:
        raise ValueError("five is too many")


@pytest.mark.parametrize("bounds", [False, True])
def test_another_exception_is_named_too(bounds):
    asked = program(refuse)
    message = (
        r"update function raised an exception: ValueError: five is too many, in refuse \(.*:\d+"
    )
    with pytest.raises(EngineCrashError, match=message) as raised:
        run("dgs", asked, of_values([1, 5], asked), bounds=bounds)
    assert isinstance(raised.value.__cause__, ValueError)


def test_exceptions_elsewhere_are_handled_as_before(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with collect_exceptions() as raised:
        sys.unraisablehook(SimpleNamespace(object="somebody", exc_value=ValueError()))
    assert (len(seen), raised) == (1, [])
    assert sys.unraisablehook == seen.append


def test_the_cache_tells_kernels_that_check_from_those_that_do_not(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    pair = program().parallel[0]
    hits = []
    for bounds in (False, True, False, True):
        monkeypatch.setattr(compiling, "_loaded", {})  # as another process
        kernels = Kernels(program(), bounds=bounds)
        kernels.fork(pair)
        (made,) = kernels._compiled.values()
        hits.append(bool(made.cache_hits))
    assert hits == [False, False, True, True]


def test_a_kernel_from_the_cache_names_the_index_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    asked = program(add_to)
    for _ in range(2):
        monkeypatch.setattr(compiling, "_loaded", {})  # as another process
        with pytest.raises(EngineCrashError, match=r"state\.items: index 5 is out of bounds"):
            run("dgs", asked, of_values([1, 5], asked))


def test_indices_are_checked_unless_an_option_says_otherwise():
    compiling_variants = {name for name in FAMILIES if option_error(name, {"bounds": True}) is None}
    assert compiling_variants == {*FAMILIES} - {"adhoc", "1t", "indexed"}
    assert RunSettings().bounds and all(FAMILIES[name].options().bounds for name in FAMILIES)
