from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.engines.multicore.oplus.elastic.mapping import balanced_mapping


@st.composite
def changes(draw):
    buckets = draw(st.integers(1, 200))
    before = draw(st.integers(1, 20))
    previous = draw(st.lists(st.integers(0, before - 1), min_size=buckets, max_size=buckets))
    return np.array(previous, dtype=np.int64), draw(st.integers(1, 20))


@given(changes())
def test_numbers_of_buckets_differ_by_at_most_one(change):
    previous, instances = change
    mapping = balanced_mapping(len(previous), instances, previous)
    held = np.bincount(mapping, minlength=instances)
    assert mapping.dtype == np.int64
    assert len(held) == instances
    assert held.max() - held.min() <= 1


@given(changes())
def test_a_bucket_moves_only_where_its_instance_has_too_many_or_is_gone(change):
    previous, instances = change
    mapping = balanced_mapping(len(previous), instances, previous)
    moved = mapping != previous
    gave = set(previous[moved].tolist())
    got = set(mapping[moved].tolist())
    assert not gave & got


@pytest.mark.parametrize("instances", [1, 2, 3])
def test_no_balanced_mapping_moves_fewer_buckets(instances):
    buckets = 5
    all_mappings = [np.array(m) for m in product(range(instances), repeat=buckets)]
    balanced = []
    for mapping in all_mappings:
        held = np.bincount(mapping, minlength=instances)
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
