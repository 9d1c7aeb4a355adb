"""Records, which programs see as states, events and outputs."""

import pickle

import numpy as np
import pytest

from streamlab.workloads.model import Alphabet, Input, ProgramError, Stream
from streamlab.workloads.model.streams.records import (
    Emitter,
    RecordType,
    column,
    event_type,
    rows_to_columns,
    tuple_type,
)
from streamlab.workloads.model.streams.total_order import merge
from streamlab.workloads.suite.event_window.program import PROGRAM

NESTED = np.dtype(
    [("n", np.int32), ("share", np.float64), ("seen", np.bool_), ("grid", "i8", (2, 2))]
)


def test_records_start_zeroed_with_arrays_of_their_shape():
    record = RecordType("nested", NESTED).zeroed()
    assert (record.n, record.share, record.seen) == (0, 0.0, False)
    assert record.grid.tolist() == [[0, 0], [0, 0]]


def test_a_copy_shares_nothing_with_its_original():
    kind = RecordType("nested", NESTED)
    record = kind.zeroed()
    twin = kind.copy(record)
    twin.n = 1
    twin.grid[0, 1] = 5
    assert record.n == 0
    assert record.grid[0, 1] == 0
    assert not kind.equal(record, twin)
    assert kind.equal(record, kind.zeroed())
    assert kind.words(twin) == "nested(n=1, share=0.0, seen=False, grid=((0, 5), (0, 0)))"


def test_the_words_of_a_long_array_are_its_nonzero_elements():
    kind = RecordType("long", np.dtype([("counts", np.int64, (50, 20))]))
    record = kind.zeroed()
    record.counts[3, 4] = 7
    assert kind.words(record) == "long(counts={[3, 4]=7})"
    record.counts[:] = np.ones((50, 20), dtype=np.int64)
    assert kind.words(record).endswith("[0, 15]=1, and 984 more})")


def test_a_field_that_does_not_exist_cannot_be_set():
    record = RecordType("nested", NESTED).zeroed()
    with pytest.raises(AttributeError):
        record.other = 1


def test_events_are_read_only():
    event = event_type(PROGRAM.event)(1, 0, 0, 5)
    assert (event.ts, event.kind, event.key, event.value) == (1, 0, 0, 5)
    with pytest.raises(AttributeError):
        event.value = 6


def test_emitting_the_wrong_number_of_fields_is_an_error_with_the_row():
    out = Emitter(PROGRAM.output)
    out.emit(1, 2, 3)
    with pytest.raises(ProgramError, match=r"got 3 fields \(1, 2, 3\); the output has"):
        out.columns(PROGRAM.output)


def test_outputs_keep_64_bit_integers_exactly():
    out = Emitter(PROGRAM.output)
    out.emit(2**62 + 1, -(2**63))
    columns = out.columns(PROGRAM.output)
    assert columns["ts"].tolist() == [2**62 + 1]
    assert columns["sum"].tolist() == [-(2**63)]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([3, 4.0], [3, 4]),
        ([2**60 + 1, 4.0], [2**60 + 1, 4]),
        ([np.float64(5), np.int64(2**62 + 1), True], [5, 2**62 + 1, 1]),
        ([], []),
        ([1.5], "1.5"),
        ([7, float("nan")], "nan"),
        ([float("inf")], "inf"),
        ([2**63], "9223372036854775808"),
        ([1e19, 2], "10000000000000000000"),
        ([None], "None"),
        (["3"], "'3'"),
        (np.array([1.0, -2.0]), [1, -2]),
        (np.array([1.0, 2.25]), "2.25"),
        (np.array([1.0, np.nan]), "nan"),
        (np.array([1, 2**63], np.uint64), "9223372036854775808"),
        (np.array([2.0**63]), "9.2"),
    ],
)
def test_a_value_beyond_a_fields_integers_is_refused(given, kept):
    output = np.dtype([("ts", np.int64), ("share", np.float32)])
    if isinstance(kept, str):
        with pytest.raises(ProgramError, match=f"field ts is of type int64 and got .*{kept}"):
            column("ts", given, output)
    else:
        found = column("ts", given, output)
        assert (found.dtype, found.tolist()) == (np.int64, kept)
    assert column("share", [0.5, 2**24 + 1], output).tolist() == [0.5, 2**24]


def test_a_narrow_field_keeps_no_remainder():
    output = np.dtype([("ts", np.int64), ("count", np.int8)])
    with pytest.raises(ProgramError, match="field count is of type int8 and got 300"):
        rows_to_columns([(1, np.int64(300))], output)
    out = Emitter(PROGRAM.output)
    out.emit(1, 2.5)
    with pytest.raises(ProgramError, match=r"field sum is of type int64 and got 2\.5"):
        out.columns(PROGRAM.output)


def test_events_come_in_total_order_and_absent_fields_read_as_zero():
    streams = (
        Stream(
            name="value",
            kinds=(0,),
            ts=np.array([1, 3, 3], dtype=np.int64),
            payload={"value": np.array([10, 30, 31], dtype=np.int64)},
        ),
        Stream(name="barrier", kinds=(1,), ts=np.array([0, 3], dtype=np.int64)),
    )
    data = Input(alphabet=Alphabet(kinds=PROGRAM.kinds), streams=streams)
    events = list(merge(data, PROGRAM).events(PROGRAM))
    assert [tuple(event) for event in events] == [
        (0, 1, 0, 0),
        (1, 0, 0, 10),
        (3, 0, 0, 30),
        (3, 0, 0, 31),
        (3, 1, 0, 0),
    ]


def test_records_and_tuples_can_be_pickled_whatever_their_classes_are_called():
    types = RecordType("nested", NESTED)
    record = types.zeroed()
    record.n, record.grid[1, 0] = 7, 3
    held = {"state": record, "tuples": [tuple_type(("words",))(4, 0, (1, 2))]}
    restored = pickle.loads(pickle.dumps(held))
    assert types.equal(restored["state"], record)
    assert restored["tuples"] == held["tuples"]
    assert restored["tuples"][0].words == (1, 2)
