"""Maps buckets of keys to instances: f_mu of STRETCH, section 4, as a table."""

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def balanced_mapping(buckets: int, instances: int, previous: IntArray | None = None) -> IntArray:
    """Return which instance each bucket goes to, with as few moves as balance allows.

    Numbers of buckets of any two instances differ by at most 1. No balanced mapping leaves more
    buckets where they are in `previous`. Where there is none, bucket b goes to b mod instances, as
    in the paper's evaluation. Neighbouring buckets are spread over the instances, since a join's
    window may lie in few of them, one beside the other.

    Args:
        buckets: their number, at least 1.
        instances: their number, at least 1; those with the indices 0 to `instances` - 1.
        previous: int64[buckets], the mapping before; its instances may be more or fewer.

    Returns:
        int64[buckets], values in [0, instances).

    Raises:
        ValueError: a number is below 1, or `previous` has another length or a negative value.
    """
    if buckets < 1 or instances < 1:
        raise ValueError(f"{buckets} buckets on {instances} instances; wanted at least 1 of each")
    if previous is None:
        return np.arange(buckets, dtype=np.int64) % instances
    if previous.shape != (buckets,) or (previous < 0).any():
        raise ValueError(
            f"previous mapping of shape {previous.shape} with minimum "
            f"{previous.min(initial=0)}; wanted ({buckets},) and nothing below 0"
        )
    held = np.bincount(previous, minlength=instances)[:instances]
    each, more = divmod(buckets, instances)
    quota = np.full(instances, each, dtype=np.int64)
    # The odd ones stay with instances that would otherwise have to give one away.
    quota[np.argsort(-held, kind="stable")[:more]] += 1
    order = np.argsort(previous, kind="stable")
    of = previous[order]
    first = np.searchsorted(of, of, side="left")
    rank = np.arange(buckets, dtype=np.int64) - first  # among the buckets of its instance
    count = np.bincount(of)[of]
    allowed = np.minimum(np.append(quota, np.int64(0))[np.minimum(of, instances)], count)
    # Those that stay are spread over those that are held, and so are those that each one gets.
    stays = (rank + 1) * allowed // count > rank * allowed // count
    moving = np.sort(order[~stays])
    wanted = np.maximum(quota - held, 0)
    taker = np.repeat(np.arange(instances), wanted)
    nth = np.arange(len(taker)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    mapping = previous.astype(np.int64)
    mapping[moving] = taker[np.argsort((nth + 0.5) / wanted[taker], kind="stable")]
    return mapping
