"""Functions of operators in compiled code: those that constructions build, states, and sizes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineError, UnsupportedError
from streamlab.engines.multicore.oplus.refusal import MAX_WINDOWS, check_windows
from streamlab.workloads.model import (
    InputType,
    Operator,
    Query,
    Window,
    aggregate,
    aggregate_plus,
    equi_join,
    join,
)
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from tests.engines.inputs import input_of, sorted_rows
from tests.engines.multicore.native_runs import make_run, run_native
from tests.examples import examples

FIRST = InputType(
    name="first",
    fields=np.dtype([("x", np.int64), ("y", np.float64)]),
    lists=(("ids", np.dtype(np.int32)),),
)
SECOND = InputType(name="second", fields=np.dtype([("x", np.int64), ("z", np.int32)]))
TOTALS = np.dtype([("ts", np.int64), ("key", np.int64), ("count", np.int64), ("sum", np.float64)])
PAIRS = np.dtype([("ts", np.int64), ("y", np.float64), ("z", np.int32)])
TOTAL = np.dtype([("count", np.int64), ("sum", np.float64)])
STEP = 2


def scaled(value):
    return value * STEP


def shifted(value):
    return scaled(value) + 1


def remainder(t):
    return t.x % 3


def every_id(t, out):
    for one in t.ids:
        out.add(one)
    out.add(remainder(t))


def work_in(w, t):
    w.count += shifted(t.x)
    w.sum += t.y


def forward(w, out):
    out.emit(w.key, w.count, w.sum)


def forward_twice(w, out):
    forward(w, out)
    out.emit(w.key, -w.count, scaled(w.sum))


def near(left, right):
    return abs(left.y - right.z) <= shifted(0)


def both(left, right, out):
    out.emit(left.y, right.z)


def asked(operator):
    return Query(name=operator.name, operators=(operator,))


REDUCED = {"reduce": work_in, "state": TOTAL, "output": TOTALS, "source": FIRST}
SIDES = {
    "left": replace(FIRST, lists=()),
    "right": replace(SECOND, lists=()),
}  # lists are not stored
JOINED = {**SIDES, "size": 4, "match": near, "emit": both, "output": PAIRS}
MADE = {
    "a": aggregate(
        name="a", window=Window(advance=2, size=5), key=remainder, result=forward, **REDUCED
    ),
    "a, single": aggregate(
        name="a",
        window=Window(advance=2, size=5, type=SINGLE),
        key=remainder,
        result=forward,
        **REDUCED,
    ),
    "a+": aggregate_plus(
        name="a_plus",
        window=Window(advance=3, size=3),
        keys=every_id,
        result=forward_twice,
        max_outputs=2,
        **REDUCED,
    ),
    "j": equi_join(name="j", key=remainder, shares=4, **JOINED),
    "j, advancing": equi_join(name="j", key=remainder, shares=4, advance=2, **JOINED),
    "j+": join(name="j_plus", shares=3, **JOINED),
}


def native(query, data, **how):
    """Return the sorted records of a native run's answer."""
    return sorted_rows(run_native("vsn", query, data, ring_blocks=16, pin=False, **how)[1])


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.full if n == "j, advancing" else ()) for n in MADE],
)
def test_constructions_compile_and_answer_as_the_interpreter(name):
    operator = MADE[name]
    query = asked(operator)
    layout = [("first",), ("second",)] if operator.join is not None else [("first",)] * 2

    @settings(max_examples=examples(20))
    @given(data=st.data())
    def check(data):
        drawn = data.draw(inputs(query, layouts=[layout]))
        expected = sorted_rows(answer_of(query, drawn))
        forms = [("operator10", False), ("operator10", True)]
        if operator.join is not None:
            forms.append(("fused", False))
        for join_form, shared_nothing in forms:
            got = native(
                query,
                drawn,
                workers=data.draw(st.sampled_from([1, 2, 5])),
                batch=data.draw(st.sampled_from([1, 64])),
                shared_nothing=shared_nothing,
                join_form=join_form,
            )
            assert got == expected

    check()


@pytest.mark.parametrize("shares", [1, 3])
def test_a_join_finds_each_match_among_any_number_of_stored_tuples(shares):
    count, span = 200, 120
    rng = np.random.default_rng(1)
    places = np.arange(count)
    data = input_of(
        ("first", "second"),
        (0, places, {"x": places, "y": 10.0 * places}),
        # As time passes, fewer tuples remain, and each has one match among those of the window or none.
        (1, count + places, {"x": places, "z": (10 * rng.permutation(count)).astype(np.int32)}),
    )
    query = asked(join(name="j_plus", shares=shares, **JOINED | {"size": span}))
    expected = sorted_rows(answer_of(query, data))
    assert 0 < len(expected) < count
    assert native(query, data, workers=2, join_form="operator10") == expected


# --- keys are removed when their states are zero by value -----------------------------------------

NUMBER = InputType(name="in", fields=np.dtype([("v", np.float64)]))
SEEN = np.dtype([("ts", np.int64), ("key", np.int64), ("sum", np.float64)])
FLOATS = np.dtype(
    [("sum", np.float64), ("small", np.float32), ("last", np.float32, (2,)), ("n", np.int32)]
)


def whole(t, out):
    out.add(0)
    if t.v == t.v:
        out.add(int(t.v) + 10)


def add_up(w, t, out):
    w[0].sum += t.v
    w[0].small += t.v
    w[0].last[1] += t.v
    w[0].n += 1


def show(w, out):
    out.emit(w[0].key, w[0].sum)


def turn(w):
    w[0].sum *= -1
    w[0].small *= -1
    w[0].last[0] *= -1
    w[0].last[1] *= -1
    w[0].n = 0


def sum_only(w, t, out):
    w[0].sum += t.v


def turn_sum(w):
    w[0].sum *= -1


def numbers(*tuples):
    values = np.array([v for _, v in tuples], dtype=np.float64)
    return input_of(("in",), (0, [ts for ts, _ in tuples], {"v": values}))


def turning(update=add_up, slide=turn, state=FLOATS):
    operator = Operator(
        name="turning",
        inputs=(NUMBER,),
        window=Window(advance=10, size=10, type=SINGLE),
        output=SEEN,
        state=state,
        keys=whole,
        update=update,
        expire=show,
        slide=slide,
        buckets=4,
    )
    return asked(operator)


@pytest.mark.parametrize("shared_nothing", [False, True])
def test_a_key_whose_states_are_minus_zero_is_removed(shared_nothing):
    query = turning()
    data = numbers((0, 2.0), (1, -2.0), (2, 0.0), (55, 1.0))
    expected = sorted_rows(answer_of(query, data))
    # The keys 0 and 10 have come to zero by the first slide: they are shown once.
    assert [row[:2] for row in expected if row[1] in (0, 10)] == [(10, 0), (10, 10)]
    assert native(query, data, workers=2, shared_nothing=shared_nothing) == expected


@pytest.mark.parametrize(
    "query",
    [turning(), turning(sum_only, turn_sum, np.dtype([("sum", np.float64)]))],
    ids=["several", "one"],
)
def test_keys_go_when_the_interpreter_lets_them_go(query):
    value = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, float("nan"), 5e-324])

    @settings(max_examples=examples(30))
    @given(st.lists(st.tuples(st.integers(0, 60), value), max_size=12))
    def check(tuples):
        data = numbers(*sorted(tuples, key=lambda t: t[0]))
        got, expected = native(query, data, workers=2), sorted_rows(answer_of(query, data))
        assert [row[:2] for row in got] == [row[:2] for row in expected]  # sums may be no numbers

    check()


# --- windows that overlap too much ----------------------------------------------------------------


def sized(advance, size, buckets=1024, kind="multi"):
    window = Window(advance=advance, size=size, type=kind)
    return replace(turning().operators[0], window=window, slide=None, buckets=buckets)


HALF = sized(1, 1024)
"""Half of the windows that a run may have."""


@pytest.mark.parametrize(
    ("operators", "states", "parts"),
    [
        (
            [sized(1, 3_600_000)],
            1,
            [
                "operator turning: windows of size 3600000 that advance by 1 overlap 3600000",
                "with 1024 buckets",
                "let the window advance by at least 1758",
            ],
        ),
        ([sized(1757, 3_600_000)], 1, ["advance by at least 1758"]),
        ([sized(1758, 3_600_000)], 1, []),
        ([sized(1, 4096)], 1, ["at most 512 buckets"]),
        ([sized(1, 4096, buckets=512)], 1, []),
        ([sized(1, 3_600_000, kind=SINGLE)], 1, []),
        ([MADE["j+"]], 1, []),
        ([sized(1, 1 << 40, buckets=MAX_WINDOWS + 1)], 1, ["fewer buckets and a larger advance"]),
        ([HALF], 2, []),
        ([HALF, HALF], 1, []),
        (
            [HALF],
            63,
            [
                "1048576 windows, for each of 63 shared-nothing instances, and 66060288 in",
                "at least 6,048 MiB; the maximum of a run is 2097152 windows",
                "let the window advance by at least 32",
                "at most 32 buckets",
                "at most 2 instances",
            ],
        ),
        ([sized(32, 1024)], 63, []),
        (
            [HALF, sized(1, 2), HALF],
            1,
            ["1048576 windows, and 2099200 with the other operators", "advance by at least 2"],
        ),
    ],
)
def test_too_many_windows_for_memory_are_refused(operators, states, parts):
    reason = check_windows(operators, states)
    assert (reason is None) == (not parts)
    assert all(part in reason for part in parts)


@pytest.mark.parametrize("shared_nothing", [False, True])
def test_instances_that_share_nothing_have_windows_each(shared_nothing):
    query, variant = asked(sized(1, 1024)), "sn" if shared_nothing else "vsn"
    if shared_nothing:
        with pytest.raises(UnsupportedError, match="each of 3 shared-nothing instances"):
            make_run(variant, query, numbers(), max_instances=3)
    else:
        make_run(variant, query, numbers(), max_instances=3).close()


# --- what does not compile says where -------------------------------------------------------------


def recursive(value):
    return recursive(value - 1) if value > 0 else "no number"


def by_text(t, out):
    out.add(len(recursive(t.v)))


def misspelt(w, t, out):
    w[0].summ += t.v


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"update": misspelt}, r"(?s)update function misspelt \(.*not compile.*no field 'summ'"),
        # Of a helper its caller is named.
        ({"keys": by_text}, r"keys function by_text \(.*does not compile"),
    ],
)
def test_code_that_does_not_compile_is_named_with_the_function(functions, message):
    operator = replace(turning().operators[0], **functions)
    with pytest.raises(EngineError, match=message):
        native(asked(operator), numbers((0, 1.0)))
