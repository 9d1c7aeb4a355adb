"""Computes the expected lists: counts the pairs of all tickets hour by hour, and sorts them."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.retail.parameters import Ids
from streamlab.workloads.inputs.retail.ranking import RANKED
from streamlab.workloads.inputs.retail.schema import SALE
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.model.streams.records import rows_to_columns

Pair = tuple[int, int]


def oracle(
    data: Input,
    /,
    *,
    stores: Ids,
    categories: Ids,
    more_than: int,
    top: int,
    hour_ms: int,
    most_items: int,
    open_tickets: int,
) -> Columns:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    A list has the time of the first pair in a later hour. The last hour has no list.
    """
    pairs = _pairs(data, stores, categories, most_items, open_tickets)
    rows: list[tuple[int, ...]] = []
    listed: list[tuple[int, ...]] = []
    for hour, group in groupby(pairs, key=lambda pair: pair[0] // hour_ms):
        hour_pairs = list(group)
        rows += [(hour_pairs[0][0], *row) for row in listed]
        counts = Counter(pair for _, pair in hour_pairs)
        frequent = [(-count, *pair) for pair, count in counts.items() if count > more_than]
        listed = [
            (hour * hour_ms, rank, item_1, item_2, -count)
            for rank, (count, item_1, item_2) in enumerate(sorted(frequent)[:top], start=1)
        ]
    return rows_to_columns(rows, RANKED)


def _pairs(
    data: Input, stores: Ids, categories: Ids, most_items: int, open_tickets: int
) -> Iterator[tuple[int, Pair]]:
    """Yield (time, pair) for each pair of distinct items of a ticket, at its later item."""
    sales = total_order(data, SALE)
    selected = stores.mask(sales.payload["store"]) & categories.mask(sales.payload["category"])
    columns = (sales.ts, sales.payload["ticket"], sales.payload["item"])
    tickets: dict[int, set[int]] = defaultdict(set)
    current_tickets: dict[int, int] = {}
    for ts, ticket, item in zip(*(column[selected].tolist() for column in columns), strict=True):
        open_ticket = current_tickets.get(ticket % open_tickets, ticket)
        if open_ticket != ticket:
            del tickets[open_ticket]
        current_tickets[ticket % open_tickets] = ticket
        items = tickets[ticket]
        if item not in items and len(items) < most_items:
            yield from ((ts, (min(item, other), max(item, other))) for other in items)
            items.add(item)
