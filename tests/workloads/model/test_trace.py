"""Data-trace equality: against a definition by swaps, and against every kind of fault."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Columns, ModelError, OutputType, Tag
from streamlab.workloads.model.answers.trace import compare
from tests.examples import examples
from tests.workloads.model.naive import swaps

KEYED = OutputType(
    kinds=("view", "update"),
    depends=lambda a, b: a.key == b.key and (a.kind == 1 or b.kind == 1),
    kind_field="kind",
    key_field="key",
)
ACROSS = OutputType(
    kinds=("local", "other", "all"),
    depends=lambda a, b: a.kind == 2 or b.kind == 2 or (a.kind == b.kind == 1 and a.key != b.key),
    kind_field="kind",
    key_field="key",
)
SEQUENCE = OutputType(kinds=("sum",), depends=lambda a, b: True)
BAG = OutputType(kinds=("sum",), depends=lambda a, b: False)
TYPES = st.sampled_from([KEYED, ACROSS, SEQUENCE, BAG])

Row = tuple[int, int, int, int]
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(5, 7), st.integers(0, 1)),
    max_size=6,
)


def columns(rows: list[Row]) -> Columns:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 4)
    return {
        "ts": table[:, 0].copy(),
        "kind": table[:, 1].astype(np.int8),
        "key": table[:, 2].astype(np.int32),
        "value": table[:, 3].astype(np.float64),
    }


def dependent(output: OutputType, a: Row, b: Row) -> bool:
    kind = (a[1], b[1]) if output.kind_field else (0, 0)
    key = (a[2], b[2]) if output.key_field else (0, 0)
    return output.depends(Tag(kind[0], key[0]), Tag(kind[1], key[1]))


def same_by_swaps(output: OutputType, left: list[Row], right: list[Row]) -> bool:
    return tuple(right) in swaps(tuple(left), partial(dependent, output))


@settings(deadline=None, max_examples=examples(300))
@given(TYPES, ROWS, st.data())
def test_equality_agrees_with_the_definition_by_swaps(output, rows, data):
    other = data.draw(st.permutations(rows))
    expected = same_by_swaps(output, rows, list(other))
    assert compare(columns(rows), columns(list(other)), output).equal == expected


@settings(deadline=None)
@given(TYPES, ROWS, ROWS)
def test_unrelated_traces_are_equal_only_by_swaps(output, left, right):
    expected = same_by_swaps(output, left, right)
    assert compare(columns(left), columns(right), output).equal == expected


@settings(deadline=None)
@given(TYPES, ROWS, st.data())
def test_equality_is_reflexive_symmetric_and_transitive(output, rows, data):
    one, two = columns(rows), columns(list(data.draw(st.permutations(rows))))
    three = columns(list(data.draw(st.permutations(rows))))
    assert compare(one, one, output).equal
    assert compare(one, two, output).equal == compare(two, one, output).equal
    if compare(one, two, output).equal and compare(two, three, output).equal:
        assert compare(one, three, output).equal


@settings(deadline=None)
@given(TYPES, ROWS, st.data())
def test_a_swap_of_adjacent_rows_matters_exactly_when_they_depend_and_differ(output, rows, data):
    assume(len(rows) > 1)
    i = data.draw(st.integers(0, len(rows) - 2))
    swapped = [*rows[:i], rows[i + 1], rows[i], *rows[i + 2 :]]
    matters = dependent(output, rows[i], rows[i + 1]) and rows[i] != rows[i + 1]
    difference = compare(columns(rows), columns(swapped), output)
    assert difference.equal != matters
    if matters:
        assert difference.out_of_order > 0
        assert difference.missing == difference.duplicate == difference.wrong == 0


BASE: list[Row] = [(t, int(t % 4 == 3), 5 + t % 2, 0) for t in range(20)]


@pytest.mark.parametrize(
    ("actual", "faults", "text"),
    [
        (BASE[:7] + BASE[8:], (1, 0, 0), "expected row 7: (ts=7, kind=1, key=6, value=0.0)"),
        ([*BASE, BASE[2]], (0, 1, 0), "row 20"),
        (
            [*BASE[:4], (4, 0, 5, 9), *BASE[5:]],
            (0, 0, 1),
            "value=9.0), expected (ts=4, kind=0, key=5, value=0.0)",
        ),
        ([*BASE, (99, 0, 5, 1)], (0, 0, 1), "nothing expected at that time"),
        # A kind that does not exist is wrong, and no crash.
        ([*BASE[:4], (4, 77, 5, 0), *BASE[5:]], (1, 0, 1), "kind=77"),
    ],
    ids=["missing", "duplicate", "changed", "unasked", "unknown kind"],
)
def test_a_fault_is_counted_and_shown(actual: list[Row], faults: tuple[int, ...], text: str):
    difference = compare(columns(BASE), columns(actual), KEYED)
    assert (difference.missing, difference.duplicate, difference.wrong) == faults
    assert difference.out_of_order == 0
    assert text in difference.render()


def test_several_faults_are_reported_separately():
    bad = [BASE[0], *BASE[2:], BASE[0]]
    bad[5] = (6, 0, 5, 3)
    difference = compare(columns(BASE), columns(bad), KEYED, limit=3)
    assert (difference.missing, difference.duplicate, difference.wrong) == (1, 1, 1)
    assert {example.fault for example in difference.examples} == {"missing", "duplicate", "wrong"}


def test_the_number_of_examples_is_limited_and_the_rest_counted():
    difference = compare(columns(BASE), columns([]), KEYED, limit=4)
    assert difference.missing == 20
    assert len(difference.examples) == 4
    assert "and 16 more" in difference.render()


def test_an_equal_output_says_so():
    assert compare(columns(BASE), columns(BASE), KEYED).render() == "equal: 20 rows"


SORTED_BAG = replace(BAG, sorted=True)


@settings(deadline=None)
@given(ROWS, st.data())
def test_a_sorted_output_is_equal_when_it_is_the_same_multiset_in_order_of_time(rows, data):
    rows = sorted(rows)
    other = list(data.draw(st.permutations(rows)))
    times = [row[0] for row in other]
    difference = compare(columns(rows), columns(other), SORTED_BAG)
    assert difference.equal == (times == sorted(times))
    late = sum(ts < max(times[:place], default=ts) for place, ts in enumerate(times))
    assert difference.out_of_order == late
    assert difference.missing == difference.duplicate == difference.wrong == 0


def test_a_row_before_an_earlier_one_is_shown_with_the_time_that_it_came_after():
    moved = [*BASE[:4], BASE[9], *BASE[4:9], *BASE[10:]]
    difference = compare(columns(BASE), columns(moved), SORTED_BAG, limit=2)
    assert (difference.out_of_order, difference.wrong) == (5, 0)
    assert "row 5: (ts=4, kind=0, key=5, value=0.0), after a row of time 9" in difference.render()
    assert "and 3 more" in difference.render()
    assert compare(columns(BASE), columns(moved), BAG).equal


def test_an_output_that_is_wrong_and_out_of_order_shows_both():
    bad = [BASE[1], BASE[0], *BASE[2:5], (4, 0, 5, 9), *BASE[5:]]
    difference = compare(columns(BASE), columns(bad), SORTED_BAG)
    assert (difference.wrong, difference.out_of_order) == (1, 1)
    assert {example.fault for example in difference.examples} == {"wrong", "out of order"}


def test_nan_equals_nan_and_zero_equals_minus_zero():
    left = {"ts": np.arange(3), "value": np.array([np.nan, 0.0, 1.0])}
    right = {"ts": np.arange(3), "value": np.array([np.nan, -0.0, 1.0])}
    assert compare(left, right, SEQUENCE).equal
    assert compare(left, {k: v[[1, 0, 2]] for k, v in right.items()}, BAG).equal


def test_keys_far_apart_are_compared_like_others():
    rows = [(t, t % 2, 10**9 * (t % 3 - 1), 0) for t in range(9)]
    swapped = [rows[1], rows[0], *rows[2:]]
    assert compare(columns(rows), columns(swapped), KEYED).equal
    assert not compare(columns(rows), columns([*rows[:1], *rows[4:], *rows[1:4]]), KEYED).equal


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("key"), "expected ts, kind, key, value"),
        (lambda c: c.update(more=c["ts"]), "more"),
        (lambda c: c.update(ts=c["ts"].astype(np.int32)), "column ts has type int32; expected int"),
        (lambda c: c.update(ts=c["ts"][:-1]), "unequal length"),
    ],
)
def test_malformed_outputs_are_refused_with_the_column(change, message):
    actual = columns(BASE)
    change(actual)
    with pytest.raises(ModelError, match=message):
        compare(columns(BASE), actual, KEYED)


def test_a_relation_that_treats_keys_differently_is_refused():
    odd = OutputType(
        kinds=("a",),
        depends=lambda a, b: a.key == b.key == 7,
        key_field="key",
    )
    with pytest.raises(ModelError, match="differs between keys"):
        compare(columns(BASE), columns([*BASE[:1], (1, 0, 7, 0), *BASE[2:]]), odd)
