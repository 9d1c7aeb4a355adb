"""Computes the most frequent items so far at the end of every hour, for oracles."""

from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest

from streamlab.workloads.inputs.retail.ranking import RANKED
from streamlab.workloads.model import Columns
from streamlab.workloads.model.streams.records import rows_to_columns


def lists_so_far(pairs: Iterable[tuple[int, int]], *, item: int, top: int, hour_ms: int) -> Columns:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    A list has the time of the first pair in a later hour. The last hour has no list.

    Args:
        pairs: (time, other item), in time order.
        item: the first item of all pairs.
        top: maximum length of a list.
        hour_ms: length of an hour.
    """
    rows, counts, hour = [], Counter[int](), None
    for ts, other in pairs:
        if hour is not None and ts // hour_ms != hour:
            best = nsmallest(top, counts.items(), key=lambda pair: (-pair[1], pair[0]))
            for rank, (ranked, count) in enumerate(best, start=1):
                rows.append((ts, hour * hour_ms, rank, item, ranked, count))
        hour = ts // hour_ms
        counts[other] += 1
    return rows_to_columns(rows, RANKED)
