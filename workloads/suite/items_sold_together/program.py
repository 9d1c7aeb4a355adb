"""TPCx-BB query 1 as a pipeline: sales -> SL wanted -> PS tickets -> PS counts -> SF ranking.

SL is a stateless operator, PS a partitioned one (a state for each key), SF a stateful one (one state).

- `wanted` selects the lines of some stores and categories.
- `tickets`, by ticket modulo `open_tickets`, pairs each new item of a ticket with the ticket's
  earlier items (lower id first). So each pair is forwarded once a ticket, at the time of the later
  item. Only the first `most_items` distinct items count; generated tickets have at most 14. A line
  of another ticket with the same number modulo `open_tickets` ends the ticket. The query reads all sales
  at once and does not define the end of a ticket; to wait for more lines, a stream would have to store all
  tickets.
- `counts`, by pair, counts the pairs of an hour and forwards every new count.
- `ranking` stores the top pairs of the hour and forwards them at the first count of a later hour.

Records carry the time of their sale, so every operator sees the hours. The count of a pair starts
over with its first record in another hour, and the last operator sees all counts in sequential
order. Partitions need no signal at the end of an hour.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.retail.parameters import Ids
from streamlab.workloads.inputs.retail.ranking import COUNTED, PAIR, ranking
from streamlab.workloads.inputs.retail.schema import SALE
from streamlab.workloads.model import Pipeline, partitioned, stateless

LINE = np.dtype([("ts", np.int64), ("ticket", np.int64), ("item", np.int32)])
COUNT = np.dtype([("hour", np.int64), ("count", np.int64)])

_ITEMS = 2**32  # a pair's key holds two ids of 32 bits


def program(
    stores: Ids,
    categories: Ids,
    *,
    more_than: int,
    top: int,
    hour_ms: int,
    most_items: int,
    open_tickets: int,
) -> Pipeline:
    """Return the pipeline; the arguments are the query parameters of the workload."""
    every_store, some_stores = stores.every, stores.among
    every_category, some_categories = categories.every, categories.among

    def wanted(t: Any, out: Any) -> None:
        if (every_store or t.store in some_stores) and (
            every_category or t.category in some_categories
        ):
            out.emit(t.ticket, t.item)

    def tickets(s: Any, t: Any, out: Any) -> None:
        if t.ticket != s.ticket:
            s.ticket = t.ticket
            s.n = 0
        for k in range(s.n):
            if s.items[k] == t.item:
                return
        if s.n == most_items:
            return
        for k in range(s.n):
            if s.items[k] < t.item:
                out.emit(s.items[k], t.item)
            else:
                out.emit(t.item, s.items[k])
        s.items[s.n] = t.item
        s.n += 1

    def counts(s: Any, t: Any, out: Any) -> None:
        hour = t.ts // hour_ms
        if hour != s.hour:
            s.hour = hour
            s.count = 0
        s.count += 1
        out.emit(t.item_1, t.item_2, s.count)

    def place(t: Any) -> Any:
        return t.ticket % open_tickets

    ticket = np.dtype([("ticket", np.int64), ("n", np.int32), ("items", np.int32, (most_items,))])
    return Pipeline(
        name="items_sold_together",
        record="sale",
        event=SALE,
        stages=(
            stateless(name="wanted", output=LINE, apply=wanted),
            partitioned(
                name="tickets",
                output=PAIR,
                key=place,
                state=ticket,
                apply=tickets,
                max_outputs=most_items - 1,
            ),
            partitioned(name="counts", output=COUNTED, key=_pair, state=COUNT, apply=counts),
            ranking(name="ranking", top=top, more_than=more_than, every_ms=hour_ms, restart=True),
        ),
    )


def _pair(t: Any) -> Any:
    return t.item_1 * _ITEMS + t.item_2
