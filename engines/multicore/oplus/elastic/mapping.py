"""Maps buckets of keys to instances: f_mu of STRETCH, section 4, as a table."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streamlab.engines.errors import EngineError

IntArray = npt.NDArray[np.int64]


def balanced_mapping(buckets: int, instances: int, previous: IntArray | None = None) -> IntArray:
    """Return a balanced mapping of buckets to instances, with the fewest moves from a previous one.

    Numbers of buckets of any two instances differ by at most 1. Without a previous mapping, bucket b
    goes to instance b mod `instances`, as in the paper's evaluation. Neighbouring buckets go to
    different instances, since a join's window may cover only a few neighbouring buckets.

    Mappings are int64[buckets] with values in [0, instances); the previous one may be of any number of instances.
    """
    if previous is None:
        return np.arange(buckets, dtype=np.int64) % instances
    held = np.bincount(previous, minlength=instances)[:instances]
    each, more = divmod(buckets, instances)
    quota = np.full(instances, each, dtype=np.int64)
    # The remaining buckets go to instances with the most buckets, so that these move fewer.
    quota[np.argsort(-held, kind="stable")[:more]] += 1
    order = np.argsort(previous, kind="stable")
    owner = previous[order]
    first = np.searchsorted(owner, owner, side="left")
    rank = np.arange(buckets, dtype=np.int64) - first  # among the buckets of its instance
    count = np.bincount(owner)[owner]
    allowed = np.minimum(np.append(quota, np.int64(0))[np.minimum(owner, instances)], count)
    # Spread the staying buckets evenly over an instance's buckets, and likewise the new ones.
    stays = (rank + 1) * allowed // count > rank * allowed // count
    moving = np.sort(order[~stays])
    missing = np.maximum(quota - held, 0)
    taker = np.repeat(np.arange(instances), missing)
    nth = np.arange(len(taker)) - np.repeat(np.cumsum(missing) - missing, missing)
    mapping = previous.astype(np.int64)
    mapping[moving] = taker[np.argsort((nth + 0.5) / missing[taker], kind="stable")]
    return mapping


def checked_mapping(mapping: Sequence[int] | IntArray, buckets: int, instances: int) -> IntArray:
    """Return a copy of a controller's mapping, int64[buckets].

    Raises:
        EngineError: it is not a whole number in [0, instances) for each bucket.
    """
    table = np.array(mapping)
    if table.shape != (buckets,):
        raise EngineError(
            f"the mapping has shape {table.shape}; give one instance for each of {buckets} buckets"
        )
    if not np.issubdtype(table.dtype, np.integer):
        raise EngineError(f"the mapping contains {table.dtype}; give whole numbers of instances")
    wrong = np.flatnonzero((table < 0) | (table >= instances))
    if len(wrong):
        raise EngineError(
            f"bucket {wrong[0]} belongs to instance {table[wrong[0]]}; give instances from 0 to "
            f"{instances - 1}"
        )
    return table.astype(np.int64)
