from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.oplus.elastic.mapping import (
    balanced_mapping,
    checked_mapping,
    instance_set,
)

SETS = st.sets(st.integers(0, 30), min_size=1, max_size=20).map(sorted)


@st.composite
def changes(draw):
    buckets = draw(st.integers(1, 200))
    before = draw(SETS | st.integers(1, 20).map(range))
    previous = draw(st.lists(st.sampled_from(before), min_size=buckets, max_size=buckets))
    return np.array(previous, dtype=np.int64), draw(SETS | st.integers(1, 20))


@given(changes())
def test_numbers_of_buckets_differ_by_at_most_one(change):
    previous, instances = change
    mapping = balanced_mapping(len(previous), instances, previous)
    held = np.bincount(mapping, minlength=31)
    active = list(instance_set(instances))
    assert mapping.dtype == np.int64
    assert held[active].sum() == len(previous)
    assert held[active].max() - held[active].min() <= 1


@given(changes())
def test_a_bucket_moves_only_where_its_instance_has_too_many_or_is_gone(change):
    previous, instances = change
    mapping = balanced_mapping(len(previous), instances, previous)
    moved = mapping != previous
    gave = set(previous[moved].tolist())
    got = set(mapping[moved].tolist())
    assert not gave & got


@pytest.mark.parametrize("instances", [1, 2, 3, (2,), (1, 3), (0, 2, 5)])
def test_no_balanced_mapping_moves_fewer_buckets(instances):
    buckets = 5
    active = instance_set(instances)
    all_mappings = [np.array(m) for m in product(active, repeat=buckets)]
    balanced = []
    for mapping in all_mappings:
        held = np.bincount(mapping, minlength=6)[list(active)]
        if held.max() - held.min() <= 1:
            balanced.append(mapping)
    for previous in map(np.array, product(range(4), repeat=buckets)):
        least = min(int((m != previous).sum()) for m in balanced)
        got = balanced_mapping(buckets, instances, previous)
        assert int((got != previous).sum()) == least


@given(buckets=st.integers(1, 300), instances=st.integers(1, 40))
def test_without_a_mapping_before_buckets_go_round(buckets, instances):
    expected = [bucket % instances for bucket in range(buckets)]
    assert balanced_mapping(buckets, instances).tolist() == expected


def test_buckets_go_round_a_named_set():
    assert balanced_mapping(5, [4, 1]).tolist() == [1, 4, 1, 4, 1]


def test_a_number_means_the_first_instances():
    assert instance_set(3) == (0, 1, 2)
    assert instance_set({5, 0}) == instance_set((5, 0)) == instance_set(np.array([0, 5])) == (0, 5)


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        (0, "the number of instances is 0; give at least 1"),
        ((), "the set of instances is empty; give at least one index"),
        ((2, 1, 2), "instance 2 occurs twice; give each index once"),
        ((1, -1), "instance -1 is no index; give whole numbers from 0"),
        ((1, 0.5), r"instance 0\.5 is no index"),
    ],
)
def test_what_names_no_instances_is_refused(instances, message):
    with pytest.raises(ValueError, match=message):
        instance_set(instances)


def test_a_mapping_to_another_than_the_named_instances_is_refused():
    assert checked_mapping([3, 1, 1], 3, (1, 3)).tolist() == [3, 1, 1]
    with pytest.raises(
        EngineError, match="bucket 1 belongs to instance 2; give instances among 1, 3"
    ):
        checked_mapping([3, 2, 0], 3, (1, 3))
    with pytest.raises(
        EngineError, match="bucket 2 belongs to instance 0; give instances from 2 to 3"
    ):
        checked_mapping([3, 2, 0], 3, (2, 3))


def test_neighbouring_buckets_are_spread_over_the_instances():
    mapping = balanced_mapping(1000, 1)
    for instances in (2, 1, 2, 3, 4, 3, 2, 4, 1, 4):
        mapping = balanced_mapping(1000, instances, mapping)
        for first in range(0, 1000, 10):
            near = np.bincount(mapping[first : first + 40], minlength=instances)
            fair = min(40, 1000 - first) / instances
            assert (near >= 0.5 * fair - 1).all(), (instances, first, near)


def test_the_mapping_before_is_left_as_it_was():
    previous = balanced_mapping(10, 2)
    balanced_mapping(10, 5, previous)
    assert np.array_equal(previous, np.arange(10) % 2)
