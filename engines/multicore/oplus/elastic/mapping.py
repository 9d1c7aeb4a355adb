"""Defines sets of instances, and mappings of key buckets to instances: O* and f_mu of STRETCH, section 4, as tables."""

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from streamlab.engines.errors import EngineError

IntArray = npt.NDArray[np.int64]
Instances = int | Collection[int]
"""The first n instances, or the instances with these indices."""


def instance_set(instances: Instances) -> tuple[int, ...]:
    """Return the indices of instances, ascending; a number n means the first n.

    Raises:
        ValueError: the set is empty, or an index is negative, repeated or no whole number.
    """
    if isinstance(instances, (int, np.integer)):
        if instances < 1:
            raise ValueError(f"the number of instances is {instances}; give at least 1")
        return tuple(range(int(instances)))
    wrong = [index for index in instances if not isinstance(index, (int, np.integer)) or index < 0]
    if wrong:
        raise ValueError(f"instance {wrong[0]!r} is no index; give whole numbers from 0")
    indices = tuple(sorted(int(index) for index in instances))
    if not indices:
        raise ValueError("the set of instances is empty; give at least one index")
    for index, next_index in pairwise(indices):
        if index == next_index:
            raise ValueError(f"instance {index} occurs twice; give each index once")
    return indices


def balanced_mapping(
    buckets: int, instances: Instances, previous: IntArray | None = None
) -> IntArray:
    """Return a balanced mapping of buckets to instances, with the fewest moves from a previous mapping.

    The numbers of buckets of two instances differ by at most 1. Without a previous mapping, the instances take buckets
    in turn, as in the paper's evaluation: bucket b goes to instance b mod n of the first n. Neighbouring buckets go to
    different instances, because a join's window may cover only a few neighbouring buckets.

    Mappings are int64[buckets] of instance indices. The previous mapping may use any instances.
    """
    members = np.array(instance_set(instances), dtype=np.int64)
    if previous is None:
        return members[np.arange(buckets) % len(members)]
    place = np.minimum(np.searchsorted(members, previous), len(members) - 1)
    # The place of each bucket's instance among the members; len(members) if the instance is not a member.
    place = np.where(members[place] == previous, place, len(members))
    bucket_counts = np.bincount(place, minlength=len(members))[: len(members)]
    base_quota, extra = divmod(buckets, len(members))
    quota = np.full(len(members), base_quota, dtype=np.int64)
    # The remaining buckets go to instances with the most buckets, so that fewer buckets move.
    quota[np.argsort(-bucket_counts, kind="stable")[:extra]] += 1
    order = np.argsort(previous, kind="stable")
    owner = previous[order]
    first = np.searchsorted(owner, owner, side="left")
    rank = np.arange(buckets, dtype=np.int64) - first  # among the buckets of its instance
    count = np.bincount(owner)[owner]
    stay_count = np.minimum(np.append(quota, np.int64(0))[place[order]], count)
    # Spread the staying buckets evenly over an instance's buckets, and spread the new buckets likewise.
    stays = (rank + 1) * stay_count // count > rank * stay_count // count
    moved_buckets = np.sort(order[~stays])
    shortage = np.maximum(quota - bucket_counts, 0)
    receiver = np.repeat(np.arange(len(members)), shortage)
    nth = np.arange(len(receiver)) - np.repeat(np.cumsum(shortage) - shortage, shortage)
    mapping = previous.astype(np.int64)
    mapping[moved_buckets] = members[
        receiver[np.argsort((nth + 0.5) / shortage[receiver], kind="stable")]
    ]
    return mapping


def checked_mapping(
    mapping: Sequence[int] | IntArray, buckets: int, instances: Instances
) -> IntArray:
    """Return a copy of a controller's mapping, int64[buckets].

    Raises:
        EngineError: the mapping does not have the index of one of the instances for each bucket.
    """
    table = np.array(mapping)
    if table.shape != (buckets,):
        raise EngineError(
            f"the mapping has shape {table.shape}; give one instance for each of {buckets} buckets"
        )
    if not np.issubdtype(table.dtype, np.integer):
        raise EngineError(f"the mapping contains {table.dtype}; give whole numbers of instances")
    members = instance_set(instances)
    wrong = np.flatnonzero(~np.isin(table, members))
    if len(wrong):
        expected = f"from {members[0]} to {members[-1]}"
        if members[-1] - members[0] + 1 != len(members):
            expected = f"among {', '.join(map(str, members))}"
        raise EngineError(
            f"bucket {wrong[0]} belongs to instance {table[wrong[0]]}; give instances {expected}"
        )
    return table.astype(np.int64)
