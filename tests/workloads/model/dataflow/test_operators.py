"""Mistakes that the templates refuse before a graph exists."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.model import ProgramError
from streamlab.workloads.model.dataflow import O, OpKeyedOrdered, OpStateless, U
from tests.workloads.model.dataflow.parts import (
    AVG,
    JFM,
    LI,
    LOAD,
    LOADS,
    ORDERED_LOADS,
    READINGS,
    positive,
)


@pytest.mark.parametrize(
    ("operator", "types", "said"),
    [
        (JFM, {"reads": ORDERED_LOADS}, "an OpStateless reads U(K, V), not O(plug, ts load)"),
        (JFM, {"gives": ORDERED_LOADS}, "an OpStateless gives U(K, V), not O(plug, ts load)"),
        (LI, {"reads": LOADS}, "an OpKeyedOrdered reads O(K, V), not U(plug, ts load)"),
        (LI, {"gives": LOADS}, "an OpKeyedOrdered gives O(K, V), not U(plug, ts load)"),
        (AVG, {"reads": ORDERED_LOADS}, "an OpKeyedUnordered reads U(K, V), not O(plug, ts load)"),
        (AVG, {"gives": ORDERED_LOADS}, "an OpKeyedUnordered gives U(K, V), not O(plug, ts load)"),
    ],
)
def test_a_template_has_the_types_of_table_1(operator: Any, types: Any, said: str):
    with pytest.raises(ProgramError) as caught:
        replace(operator, **types)
    assert str(caught.value).startswith(f"operator {operator.name}: {said}. ")


def test_the_error_of_a_template_with_the_wrong_order_has_a_remedy():
    with pytest.raises(ProgramError, match=r"Declare it U\(plug, ts load\); an O may be read as a"):
        replace(AVG, reads=ORDERED_LOADS)
    with pytest.raises(ProgramError, match=r"Declare it O\(plug, ts load\), and put SORT before"):
        replace(LI, reads=LOADS)


def test_an_ordered_operator_keeps_the_type_of_its_keys():
    with pytest.raises(ProgramError, match=r"keeps the key of its input.*in an OpStateless"):
        replace(LI, gives=O("house", LOAD))


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_max_outputs_is_a_count(most: Any):
    with pytest.raises(ProgramError, match="operator jfm: max_outputs is"):
        replace(JFM, max_outputs=most)


@pytest.mark.parametrize(
    ("operator", "field", "dtype", "said"),
    [
        (LI, "state", np.dtype(np.int64), "the state dtype int64 has no named fields"),
        (AVG, "state", np.dtype([]), "has no named fields"),
        (AVG, "aggregate", np.dtype(np.float64), "the aggregate dtype float64 has no named fields"),
        (AVG, "aggregate", np.dtype([("who", "U8")]), "field who of the aggregate is of type <U8"),
    ],
)
def test_states_and_aggregates_have_fields_of_numbers(operator: Any, field, dtype, said: str):
    with pytest.raises(ProgramError) as caught:
        replace(operator, **{field: dtype})
    assert said in str(caught.value)


def test_a_state_may_hold_an_array():
    replace(LI, state=np.dtype([("last", np.int64, (8,))]))


def test_an_operator_that_gives_nothing_is_refused():
    with pytest.raises(ProgramError, match="avg emits nothing: it needs an on_item"):
        replace(AVG, on_marker=None)


def test_a_function_that_does_nothing_when_called_is_refused():
    def later(key: Any, value: Any, out: Any) -> Any:
        yield key

    with pytest.raises(ProgramError, match=r"on_item is .*later, a generator function"):
        replace(JFM, on_item=later)
    with pytest.raises(ProgramError, match="combine is 3, a int; it must be a function"):
        replace(AVG, combine=3)


@pytest.mark.parametrize(
    ("operator", "role", "function", "expected"),
    [
        (JFM, "on_item", lambda value, out: None, "on_item(key, value, out)"),
        (JFM, "on_marker", lambda key, m, out: None, "on_marker(m, out)"),
        (LI, "on_item", positive, "on_item(s, key, value, out)"),
        (LI, "on_marker", lambda m, out: None, "on_marker(s, key, m, out)"),
        (LI, "initial_state", lambda: 0, "initial_state(s)"),
        (AVG, "take", lambda key, value: value, "take(a, key, value)"),
        (AVG, "combine", lambda x, y: x, "combine(x, y, into)"),
        (AVG, "identity", lambda: 0, "identity(a)"),
        (AVG, "update_state", lambda s: s, "update_state(s, agg)"),
        (AVG, "on_marker", lambda s, m, out: None, "on_marker(s, key, m, out)"),
    ],
)
def test_a_function_takes_the_arguments_of_its_template(
    operator: Any, role: str, function, expected: str
):
    with pytest.raises(ProgramError) as caught:
        replace(operator, **{role: function})
    message = str(caught.value)
    assert message.startswith(f"operator {operator.name}: {role} takes (")
    assert f"expected {expected}" in message


def test_a_function_may_have_defaults_and_other_names():
    def scaled(k: Any, v: Any, o: Any, factor: int = 3) -> None:
        o.emit(v.plug, v.ts, factor * v.load)

    OpStateless(name="scaled", reads=READINGS, gives=LOADS, on_item=scaled)


def test_a_name_is_a_name():
    with pytest.raises(ProgramError, match="an operator has the name ''"):
        replace(JFM, name="")


def test_types_are_types():
    with pytest.raises(ProgramError, match=r"reads is dtype.*; expected U\(key, value\)"):
        OpStateless(name="x", reads=LOAD, gives=LOADS, on_item=positive)  # type: ignore[arg-type]


def test_an_ordered_operator_may_be_of_the_unit_key():
    unit = O(None, LOAD)
    OpKeyedOrdered(
        name="x", reads=unit, gives=unit, state=LOAD, on_item=lambda s, key, value, out: None
    )
    assert U(None, LOAD).same_pairs(unit)
