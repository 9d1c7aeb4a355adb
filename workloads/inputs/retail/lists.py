"""What oracles share: the list of what was counted most often so far, at the end of every hour."""

from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest

from streamlab.workloads.inputs.retail.ranking import RANKED
from streamlab.workloads.model import Columns
from streamlab.workloads.model.streams.records import rows_to_columns


def lists_so_far(pairs: Iterable[tuple[int, int]], *, item: int, top: int, hour_ms: int) -> Columns:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    A list has the time of the first pair in a later hour; that of the last hour is left out.

    Args:
        pairs: (time, other item), in order.
        item: the first item of all pairs.
        top: length of a list.
        hour_ms: length of an hour.
    """
    rows, counts, hour = [], Counter[int](), None
    for ts, other in pairs:
        if hour is not None and ts // hour_ms != hour:
            best = nsmallest(top, counts.items(), key=lambda found: (-found[1], found[0]))
            for rank, (seen, count) in enumerate(best, start=1):
                rows.append((ts, hour * hour_ms, rank, item, seen, count))
        hour = ts // hour_ms
        counts[other] += 1
    return rows_to_columns(rows, RANKED)
