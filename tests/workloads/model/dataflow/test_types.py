"""The types of links: what they are called, what they refuse."""

import numpy as np
import pytest

from streamlab.workloads.model import ProgramError
from streamlab.workloads.model.dataflow import O, U, of_events
from tests.workloads.model.dataflow.parts import LOAD, LOADS, ORDERED_LOADS, READINGS


def test_types_are_written_as_in_the_paper():
    assert str(LOADS) == "U(plug, ts load)"
    assert str(ORDERED_LOADS) == "O(plug, ts load)"
    assert str(READINGS) == "U(unit, ts plug load)"


def test_order_does_not_change_which_pairs_there_are():
    assert LOADS.same_pairs(ORDERED_LOADS)
    assert LOADS != ORDERED_LOADS
    assert not LOADS.same_pairs(U("house", LOAD))
    assert not LOADS.same_pairs(U(None, LOAD))


def test_a_row_has_the_key_behind_the_time_unless_it_is_the_unit():
    assert LOADS.row.names == ("ts", "plug", "load")
    assert U(None, LOAD).row.names == ("ts", "load")


def test_the_type_of_a_source_has_the_time_in_front():
    assert of_events(np.dtype([("load", np.float64)])) == U(
        None, np.dtype([("ts", np.int64), ("load", np.float64)])
    )


@pytest.mark.parametrize(
    "value",
    [
        np.dtype([("load", np.int64)]),
        np.dtype([("load", np.int64), ("ts", np.int64)]),
        np.dtype([("ts", np.int32), ("load", np.int64)]),
        np.dtype(np.int64),
    ],
)
def test_a_value_begins_with_its_time(value):
    with pytest.raises(ProgramError, match="first field of a value must be ts, of type int64"):
        U("plug", value)


def test_a_key_is_not_named_like_a_field():
    with pytest.raises(ProgramError, match="key type and a field of values are both named load"):
        O("load", LOAD)


@pytest.mark.parametrize("key", ["", "kind of plug", "ts", 3])
def test_a_key_has_a_name_that_a_column_can_have(key):
    with pytest.raises(ProgramError, match="name of the key type"):
        U(key, LOAD)


@pytest.mark.parametrize(
    "field", [("items", np.int64, (4,)), ("name", "U10"), ("when", "M8[s]"), ("z", np.complex128)]
)
def test_a_value_has_numbers_only(field):
    value = np.dtype([("ts", np.int64), field])
    with pytest.raises(
        ProgramError, match=f"field {field[0]} of a value is of type .* expected an"
    ):
        U("plug", value)
