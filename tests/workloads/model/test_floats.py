"""Equality of floats in answers: the bound, the programs that have one, and the faults that it never accepts."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab import rows as table
from streamlab import workload
from streamlab.workloads.model import EXACT, Columns, ModelError, OutputType, Query, Tag, Tolerance
from streamlab.workloads.model.answers.floats import order_is_fixed, tolerances_of
from streamlab.workloads.model.answers.trace import Difference, compare
from streamlab.workloads.model.operators.aggregates import aggregate
from streamlab.workloads.model.operators.program import InputType, Window
from streamlab.workloads.model.pipeline.program import Pipeline, partitioned
from streamlab.workloads.registry import names
from streamlab.workloads.registry import workload as registered
from tests.examples import examples
from tests.workloads.model.float_programs import EXACTLY, ROUNDED
from tests.workloads.model.naive import swaps

SEQUENCE = OutputType(kinds=("sum",), depends=lambda a, b: True)
BAG = OutputType(kinds=("sum",), depends=lambda a, b: False)
KEYED = OutputType(kinds=("sum",), depends=lambda a, b: a.key == b.key, key_field="key")

Row = tuple[int, int, float, float]


def columns(rows: list[Row]) -> Columns:
    names = {"ts": np.int64, "key": np.int32, "sum": np.float64, "mean": np.float64}
    return {
        name: np.array([row[i] for row in rows], dtype=dtype)
        for i, (name, dtype) in enumerate(names.items())
    }


def compared(left: list[Row], right: list[Row], output: OutputType, **bound: float) -> Difference:
    tolerance = Tolerance(**bound)
    return compare(
        columns(left), columns(right), output, tolerances={"sum": tolerance, "mean": tolerance}
    )


def near(a: float, b: float, bound: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= bound


def close_by_swaps(output: OutputType, left: list[Row], right: list[Row], bound: float) -> bool:
    """Whether swaps of independent rows make `left` close to `right`, row by row."""

    def dependent(a: Row, b: Row) -> bool:
        return output.depends(Tag(0, a[1]), Tag(0, b[1]))

    return len(left) == len(right) and any(
        all(
            a[:2] == b[:2] and near(a[2], b[2], bound) and near(a[3], b[3], bound)
            for a, b in zip(rows, right, strict=True)
        )
        for rows in swaps(tuple(left), dependent)
    )


VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, math.nan, math.inf, -math.inf])
ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(5, 6), VALUES, VALUES), max_size=4)


@settings(deadline=None, max_examples=examples(250))
@given(st.sampled_from([SEQUENCE, BAG, KEYED]), ROWS, st.data())
def test_equality_within_a_tolerance_agrees_with_the_definition_by_swaps(output, rows, data):
    other = list(data.draw(st.permutations(rows)))
    nudged = data.draw(st.lists(st.sampled_from([0.0, 1.0, -1.0]), min_size=8, max_size=8))
    other = [
        (ts, key, first + nudged[i], second + nudged[i + 4])
        for i, (ts, key, first, second) in enumerate(other)
    ]
    expected = close_by_swaps(output, rows, other, 1.0)
    assert compared(rows, other, output, absolute=1.0).equal == expected


@settings(deadline=None, max_examples=examples(150))
@given(st.sampled_from([SEQUENCE, BAG, KEYED]), ROWS, ROWS)
def test_unrelated_answers_are_equal_only_by_swaps(output, left, right):
    expected = close_by_swaps(output, left, right, 1.0)
    assert compared(left, right, output, absolute=1.0).equal == expected


def test_rows_of_two_floats_are_matched_in_every_way():
    left = [(1, 5, 1.0, 9.0), (1, 5, 1.25, 7.0)]
    right = [(1, 5, 1.0, 7.0), (1, 5, 1.25, 9.0)]  # in order of the first float they do not match
    assert compared(left, right, BAG, absolute=0.5).equal
    assert not compared(left, right, SEQUENCE, absolute=0.5).equal


ONE_ULP = 1.9 + 2**-52


@pytest.mark.parametrize(
    ("actual", "fault"),
    [
        ([(1, 5, ONE_ULP, 0.0)], "missing"),
        ([(1, 5, ONE_ULP, 0.0), (2, 5, 3.0, 0.0), (2, 5, 3.0, 0.0)], "duplicate"),
        ([(1, 5, ONE_ULP, 0.0), (2, 6, 3.0, 0.0)], "wrong"),
        ([(1, 5, ONE_ULP, 0.0), (3, 5, 3.0, 0.0)], "wrong"),
        ([(1, 5, ONE_ULP, 0.0), (2, 5, 3.1, 0.0)], "wrong"),
        ([(1, 5, ONE_ULP, 0.0), (2, 5, math.nan, 0.0)], "wrong"),
        ([(1, 5, ONE_ULP, 0.0), (2, 5, math.inf, 0.0)], "wrong"),
        ([(2, 5, 3.0, 0.0), (1, 5, ONE_ULP, 0.0)], "out_of_order"),
    ],
)
def test_a_bound_never_accepts_another_row(actual: list[Row], fault: str):
    expected = [(1, 5, 1.9, 0.0), (2, 5, 3.0, 0.0)]
    found = compared(expected, actual, KEYED, relative=1e-6)
    assert not found.equal
    counts = {
        name: getattr(found, name) for name in ("missing", "duplicate", "out_of_order", "wrong")
    }
    if fault == "wrong":  # where time or key are wrong, the expected row is missing
        counts["missing"] = 0
    assert {name for name, count in counts.items() if count} == {fault}, found.render()


def test_a_missing_row_does_not_make_those_behind_it_wrong():
    left = [(ts, 5, ts / 10, 0.0) for ts in range(1, 50)]
    right = [(ts, 5, ts / 10 * (1 + 2**-52), 0.0) for ts in range(1, 50) if ts != 7]
    found = compared(left, right, KEYED, relative=1e-15)
    assert (found.missing, found.wrong, found.duplicate, found.out_of_order) == (1, 0, 0, 0)


def test_a_large_answer_in_another_order_is_matched():
    rng = np.random.default_rng(1)
    count = 30_000
    left = {
        "ts": np.arange(count),
        "key": np.zeros(count, dtype=np.int32),
        "sum": rng.random(count),
        "mean": rng.random(count),
    }
    order = rng.permutation(count)
    right = {name: column[order] for name, column in left.items()}
    right["sum"] = right["sum"] * (1 + 2**-52)
    found = compare(left, right, BAG, tolerances={"sum": Tolerance(relative=1e-15)})
    assert found.equal
    assert 0 < found.deviations["sum"].relative <= 2**-51
    right["sum"][5] *= 1.001
    assert compare(left, right, BAG, tolerances={"sum": Tolerance(relative=1e-15)}).wrong == 1


def test_the_largest_differences_are_kept():
    left, right = [(1, 5, 2.0, 4.0), (2, 5, 8.0, 4.0)], [(1, 5, 2.5, 4.0), (2, 5, 9.0, 4.0)]
    found = compared(left, right, KEYED, relative=0.5).deviations
    assert (found["sum"].relative, found["sum"].absolute) == (0.2, 1.0)
    assert found["sum"].share == pytest.approx(0.4)
    assert found["mean"].share == 0


def test_a_derived_bound_is_of_the_keys_typical_magnitude():
    """Sums that cancel are compared at the size of other values of their key only."""
    derived = {"sum": Tolerance(relative=1e-9, events=4), "mean": EXACT}
    left = [(1, 5, 100.0, 0.0), (2, 5, 100.0, 0.0), (3, 5, 0.0, 0.0), (3, 6, 1e-7, 0.0)]
    for key, value, equal in ((5, 9e-8, True), (5, 2e-7, False), (6, 1.1e-7, False)):
        right = [*left[:2], (3, 5, value, 0.0) if key == 5 else left[2]]
        right.append((3, 6, value, 0.0) if key == 6 else left[3])
        found = compare(columns(left), columns(right), KEYED, tolerances=derived)
        assert found.equal == equal, (key, value)


def test_where_all_values_are_0_the_inputs_magnitude_counts():
    left, right = columns([(1, 5, 0.0, 0.0)]), columns([(1, 5, 5.5e-17, 0.0)])
    derived = tolerances_of(ROUNDED, {}, 3)
    assert compare(left, right, KEYED, tolerances=derived, magnitude=lambda: 0.2).equal
    assert not compare(left, right, KEYED, tolerances=derived).equal


def test_the_last_bits_are_named():
    found = compare(columns([(4, 5, 1.9, 0.0)]), columns([(4, 5, 1.9000000000000001, 0.0)]), KEYED)
    assert found.rounding
    assert found.render().splitlines() == [
        "1 rows, expected 1: 0 missing, 0 duplicate, 0 out of order, 1 wrong (1 in the last bits "
        "of floats only)",
        "  wrong        row 0: (ts=4, key=5, sum=1.9000000000000001, mean=0.0), expected (ts=4, "
        "key=5, sum=1.9, mean=0.0): sum differs by 1 ulp (1.2e-16 of it)",
    ]
    other = compare(columns([(4, 5, 1.9, 0.0)]), columns([(4, 5, 1.91, 0.0)]), KEYED)
    assert not other.rounding
    assert "ulp" not in other.render()


def summing(name: str) -> Any:
    def reduce(w: Any, t: Any) -> None:
        w.sum += t.v

    def result(w: Any, out: Any) -> None:
        out.emit(w.sum)

    def key(t: Any) -> int:
        return 0

    return aggregate(
        name=name,
        source=InputType(name="x", fields=np.dtype([("v", np.float64)])),
        window=Window(advance=1, size=1),
        key=key,
        reduce=reduce,
        result=result,
        state=np.dtype([("sum", np.float64)]),
        output=np.dtype([("ts", np.int64), ("v", np.float64)]),
    )


def averaging(*, ties_commute: bool) -> Pipeline:
    def key(t: Any) -> int:
        return 0

    def apply(s: Any, t: Any, out: Any) -> None:
        s.sum += t.v
        out.emit(s.sum)

    made = partitioned(
        name="sum",
        output=np.dtype([("ts", np.int64), ("sum", np.float64)]),
        key=key,
        state=np.dtype([("sum", np.float64)]),
        apply=apply,
        ties_commute=ties_commute,
    )
    return Pipeline(name="sum", record="x", event=np.dtype([("v", np.float64)]), stages=(made,))


@pytest.mark.parametrize(
    ("program", "fixed"),
    [
        (ROUNDED, False),
        (EXACTLY, True),
        (replace(ROUNDED, parallel=()), False),
        (replace(ROUNDED, parallel=(), depends=lambda a, b: True), True),
        (Query(name="one", operators=(summing("a"),)), True),
        (Query(name="two", operators=(summing("a"), summing("b"))), False),
        (averaging(ties_commute=False), True),
        (averaging(ties_commute=True), False),
    ],
)
def test_models_fix_the_order_of_operations_or_do_not(program: Any, fixed: bool):
    assert order_is_fixed(program) == fixed
    exact = [bound.exact for bound in tolerances_of(program, {}, 100).values()]
    assert exact == [fixed]


def test_the_workloads_of_the_suite_are_exact():
    for name in names():
        found = registered(name)
        bounds = tolerances_of(found.program, found.output.tolerances, 10**6)
        assert all(bound.exact for bound in bounds.values()), name


def test_a_bound_is_derived_from_the_number_of_events_up_to_half_of_the_digits():
    def bound(events: int) -> float:
        return tolerances_of(ROUNDED, {}, events)["sum"].relative

    assert bound(0) == 0
    assert bound(4) == 4 * 2**-52
    assert bound(10**12) == 2**-26
    assert tolerances_of(ROUNDED, {}, 4)["sum"].words() == "within 8.9e-16 of its size (4 events)"


def nothing() -> list[dict[str, Any]]:
    return []


def test_a_declared_tolerance_stands():
    declared = {"sum": Tolerance(absolute=1e-9)}
    assert tolerances_of(ROUNDED, declared, 4) == declared
    assert tolerances_of(ROUNDED, {"sum": EXACT}, 4)["sum"].words() == "exact"
    subject = workload(ROUNDED, input=table(nothing), tolerances=declared)
    assert subject.output.tolerances == declared


def test_a_tolerance_of_a_field_that_is_no_float_is_refused():
    with pytest.raises(
        ModelError, match=r"a tolerance is declared for 'ts', which is not a float field.*: sum"
    ):
        workload(ROUNDED, input=table(nothing), tolerances={"ts": EXACT})
    with pytest.raises(ModelError, match="relative is -1"):
        Tolerance(relative=-1)
    with pytest.raises(ModelError, match="absolute is nan"):
        Tolerance(absolute=math.nan)


@settings(deadline=None, max_examples=examples(200))
@given(
    st.lists(st.floats(0, 1e6) | st.floats(0, 1), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_sums_of_one_sign_in_any_order_are_within_the_derived_bound(numbers, rng):
    shuffled = list(numbers)
    rng.shuffle(shuffled)
    middle = rng.randint(0, len(numbers))
    left = sum(numbers)
    right = sum(shuffled[:middle]) + sum(shuffled[middle:])
    found = compare(
        columns([(1, 5, left, 0.0)]),
        columns([(1, 5, right, 0.0)]),
        KEYED,
        tolerances=tolerances_of(ROUNDED, {}, len(numbers)),
    )
    assert found.equal, found.render()
