"""Records hold rows exactly, and whatever else lies in a topic is recognised."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.broker.records import (
    HEADER,
    PARTITIONS,
    list_column,
    partition_of,
    rows_of,
    topic_of,
)
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.registry import workload


@pytest.fixture
def stored(tmp_path):
    """A dataset with and one without tags, and its input."""
    data = ordinary_input(workload("event_window"))
    return write_dataset(data, "event_window", tmp_path), data


def test_rows_of_a_record_are_those_of_the_stream(stored):
    dataset, data = stored
    for index, stream in enumerate(data.streams):
        topic = topic_of(dataset, index)
        rows = rows_of(topic, stream, 3, 10)
        header, decoded = topic.decode(topic.encode(rows, promise=7, end=True))
        assert (header["promise"], header["end"], len(decoded)) == (7, 1, 7)
        np.testing.assert_array_equal(decoded, rows)
        np.testing.assert_array_equal(decoded["ts"], stream.ts[3:10])
        np.testing.assert_array_equal(decoded["row"], range(3, 10))


def test_records_of_others_are_recognised(stored):
    dataset, data = stored
    topic, other = topic_of(dataset, 0), topic_of(dataset, 1)
    record = topic.encode(rows_of(topic, data.streams[0], 0, 5))
    assert topic.decode(record) is not None
    assert other.decode(record) is None
    assert topic_of(replace(dataset, id="f" * 64), 0).decode(record) is None
    for damaged in (b"", record[:20], record[:-1], record + b"x", b"LAB0" + record[4:]):
        assert topic.decode(damaged) is None
    assert HEADER.itemsize == 40


def test_the_same_key_goes_to_one_partition_and_all_partitions_have_keys():
    keys = np.arange(-500, 500)
    places = partition_of(keys, PARTITIONS)
    np.testing.assert_array_equal(places[::-1], partition_of(keys[::-1], PARTITIONS))
    assert (np.bincount(places, minlength=PARTITIONS) > 150).all()


def test_a_column_of_lists_is_named(tmp_path):
    subject = workload("wordcount")
    dataset = write_dataset(ordinary_input(subject), "wordcount", tmp_path)
    assert list_column(dataset) is not None
