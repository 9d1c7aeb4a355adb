"""Generates sales in stores, by the benchmark's published data model.

- An order, or ticket, has 1 to 14 lines, with uniform probability. Orders come in pairs of n and
  15 - n lines, so a row number gives the order. Lengths in a pair are therefore dependent, but each
  is uniform.
- Orders are evenly spaced in time, around the clock. The published model draws a day and a second
  for each. All lines of an order have its time and its store, which is uniform.
- 40 % of the items are popular, 5 % fixed, and the rest uniform, see `scale`. An
  item's category is 1 + item mod 10; the published model draws it.
- Prices: wholesale 1.00 to 100.00, markup 0 to 100 %, discount 0 to 100 %, quantity 1 to 100. One
  line in five has a coupon for 0 to 100 % of the amount. Amounts are rounded to cents, halves up.

Random numbers depend on the position of a line among all lines, so the sales do not depend on the
number of streams.
"""

import numpy as np

from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import below, draw_at
from streamlab.workloads.inputs.retail.parameters import midnight_ms
from streamlab.workloads.inputs.retail.scale import (
    Ints,
    assign_streams,
    bought_items,
    category_of,
    parameters,
    sizes,
)
from streamlab.workloads.inputs.retail.schema import HOUR_MS, SALE, STORE_SALES
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

__all__ = ["INPUT", "MAX_LINES", "PARAMETERS", "generate", "keys", "streams"]

INPUT = STORE_SALES

MAX_LINES = 14
PAIR_ROWS = MAX_LINES + 1

PARAMETERS = {
    "orders_per_hour": Parameter(
        default=100_000,
        help="orders of all stores in an hour of event time, with 7.5 lines each",
        minimum=1,
        maximum=10**9,
    ),
    **parameters("pairs of orders"),
}

_LENGTH, _STORE, _WHICH, _ITEM, _QUANTITY = range(5)
_WHOLESALE, _MARKUP, _DISCOUNT, _COUPON, _PART = range(5, 10)
"""Lanes of random numbers."""

_SALES = 0  # stream of random numbers for the rows of all physical streams


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, which have `events` rows in all.

    Raises:
        ModelError: parameters contradict each other.
    """
    return assign_streams(params, events, kind="sale", fields=SALE, unit=PAIR_ROWS)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of a stream."""
    rows = np.arange(begin, end, dtype=np.int64)
    pair, place = rows // PAIR_ROWS * len(specs) + index, rows % PAIR_ROWS
    lines = 1 + below(draw_at(seed, _SALES, _LENGTH, pair), MAX_LINES)
    order = 2 * pair + (place >= lines)
    line = pair * PAIR_ROWS + place
    items = bought_items(
        params, draw_at(seed, _SALES, _WHICH, line), draw_at(seed, _SALES, _ITEM, line)
    )
    stores = below(draw_at(seed, _SALES, _STORE, order), sizes(params).stores)
    quantity, net_paid = _paid(seed, line)
    return {
        "ts": midnight_ms(str(params["first_day"]))
        + order * HOUR_MS // int(params["orders_per_hour"]),
        "ticket": order,
        "item": items.astype(np.int32),
        "category": category_of(items).astype(np.int16),
        "store": stores.astype(np.int32),
        "quantity": quantity.astype(np.int32),
        "net_paid": net_paid,
    }


def _paid(seed: int, line: Ints) -> tuple[Ints, Ints]:
    """Return quantities, and the amounts paid for them in cents."""

    def draw_below(lane: int, limit: int) -> Ints:
        return below(draw_at(seed, _SALES, lane, line), limit)

    wholesale = 100 + draw_below(_WHOLESALE, 9_901)
    list_price = _percent(wholesale, 100 + draw_below(_MARKUP, 101))
    price = _percent(list_price, 100 - draw_below(_DISCOUNT, 101))
    quantity = 1 + draw_below(_QUANTITY, 100)
    amount = price * quantity
    coupon = np.where(draw_below(_COUPON, 5) == 0, _percent(amount, draw_below(_PART, 101)), 0)
    return quantity, amount - coupon


def _percent(cents: Ints, percent: Ints) -> Ints:
    rounded: Ints = (cents * percent + 50) // 100
    return rounded
