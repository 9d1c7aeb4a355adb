"""Generates clicks on the web, by the benchmark's published data model.

Visits follow the published model. Four of five visits are of visitors, with 11 to 21 clicks; half
of the visitors are unknown users. One of five is of a buyer, with 3 to 6 clicks and an order of 1
to 14 items. The order adds one click for each item, at its time. All these numbers are uniform.
Clicks without a sale are on uniform items; bought items are drawn as in stores. Half of the buyers
are uniform and half popular. Types of pages are uniform.

Times are simplified, so that every row can be generated on its own, in time order:

- Rows are evenly spaced in time, but the rows of an order share one time.
- A *group* is 152 rows: 137 clicks, with the rows of an order after the 68th and after the last
  click. The two orders have n and 15 - n rows.
- A *lane* is a sequence of visits, in *cycles* of ten visits with 137 clicks: four visitors with 64
  clicks, two buyers with 9, four visitors with 64. Lengths in a pair of visitors add up to 32, but
  each is uniform.
- A *window* is M groups. Each of 137 M lanes has one click in it, at a random position. Gaps within
  a visit are therefore between 0 and two windows, on average one: `gap_s`. By default an eighth of
  the gaps exceed an hour. In the published model half do, as it draws clicks anywhere in a day.
- At any time, the lanes are spread evenly over the phases of a cycle. The orders of a group belong
  to the two buyers that had their third or their last click in the window before.
"""

from typing import NamedTuple

import numpy as np

from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import Bits, below, draw_at
from streamlab.workloads.inputs.retail.parameters import midnight_ms
from streamlab.workloads.inputs.retail.scale import (
    Ints,
    assign_streams,
    bought_items,
    category_of,
    parameters,
    popular_ids,
    sizes,
)
from streamlab.workloads.inputs.retail.schema import CLICK, HOUR_MS, PAGES, WEB_CLICKSTREAMS
from streamlab.workloads.inputs.retail.store_sales import MAX_LINES
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

__all__ = ["INPUT", "PARAMETERS", "generate", "keys", "streams"]

INPUT = WEB_CLICKSTREAMS

PARAMETERS = {
    "visits_per_hour": Parameter(
        default=240,
        help="visits that begin in an hour of event time, with 15.2 rows each",
        minimum=1,
        maximum=10**7,
    ),
    "gap_s": Parameter(
        default=2_400,
        help="mean time between clicks of a visit, rounded down to a multiple of 36000 s / "
        "visits_per_hour, at least one multiple",
        minimum=1,
        maximum=86_400,
    ),
    **parameters("groups of 152 rows"),
}

GROUP_ROWS = 152
CYCLE_CLICKS, CYCLE_VISITS = 137, 10
_BEFORE_FIRST_ORDER = 68
_THIRD_CLICK, _LAST_CLICK = 66, 72
"""Places in a cycle: the first buyer's third click, and the second buyer's last."""

_FIRST_BUYER, _SECOND_BUYER = 4, 5  # visits of a cycle

_LINES, _FACTOR, _OFFSET, _SHIFT, _BUYERS, _KNOWN, _USER, _POPULAR, _WHICH, _ITEM, _PAGE = range(11)
_VISITORS = range(11, 15)
"""Lanes of random numbers; `_VISITORS` has one for each of the four pairs of visitors in a cycle."""

_CLICKS = 0  # stream of random numbers for the rows of all physical streams


class _Positions(NamedTuple):
    """Positions of rows: place in a cycle, number of the cycle, number of the order or 0, time."""

    place: Ints
    cycle: Ints
    sale: Ints
    time: Ints


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, which have `events` rows in all.

    Raises:
        ModelError: parameters contradict each other.
    """
    return assign_streams(params, events, kind="click", fields=CLICK, unit=GROUP_ROWS)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of a stream."""
    rows = np.arange(begin, end, dtype=np.int64)
    group, row = rows // GROUP_ROWS * len(specs) + index, rows % GROUP_ROWS
    visits = int(params["visits_per_hour"])
    # 152 rows hold ten visits, so a window of M groups lasts M x 36000 s / visits.
    groups = max(1, visits * int(params["gap_s"]) // (3600 * CYCLE_VISITS))
    places = _positions(seed, groups, group, row)
    line = group * GROUP_ROWS + row
    which = draw_at(seed, _CLICKS, _WHICH, line)
    choice = draw_at(seed, _CLICKS, _ITEM, line)
    scaled = sizes(params)
    items = np.where(
        places.sale > 0, bought_items(params, which, choice), below(choice, scaled.items)
    )
    page = below(draw_at(seed, _CLICKS, _PAGE, line), len(PAGES))
    return {
        "ts": midnight_ms(str(params["first_day"]))
        + places.time * (HOUR_MS * CYCLE_VISITS) // (GROUP_ROWS * visits),
        "user": _users(params, seed, places).astype(np.int32),
        "item": items.astype(np.int32),
        "sale": places.sale.astype(np.int32),
        "category": category_of(items).astype(np.int16),
        "page": page.astype(np.int8),
    }


def _positions(seed: int, groups: int, group: Ints, row: Ints) -> _Positions:
    """Return the positions of rows; `groups` is M."""

    def draw_below(lane: int, rows: Ints, limit: int) -> Ints:
        return below(draw_at(seed, _CLICKS, lane, rows), limit)

    lines = 1 + draw_below(_LINES, group, MAX_LINES)
    second = row >= CYCLE_CLICKS + lines
    first = (row >= _BEFORE_FIRST_ORDER) & (row < _BEFORE_FIRST_ORDER + lines)
    is_bought = first | second
    window, group_in_window = np.divmod(group, groups)
    # A click's lane: an affine map modulo a prime permutes the clicks of a group, and a shift
    # for each phase permutes the lanes of the phase.
    click = np.where(row < _BEFORE_FIRST_ORDER, row, row - lines)
    factor = 1 + draw_below(_FACTOR, group, CYCLE_CLICKS - 1)
    phase = (factor * click + draw_below(_OFFSET, group, CYCLE_CLICKS)) % CYCLE_CLICKS
    shift = draw_below(_SHIFT, window * CYCLE_CLICKS + phase, groups)
    # The lane of an order is the lane that had the buyer's click a window ago, in the order's group.
    target = np.where(second, _LAST_CLICK, _THIRD_CLICK)
    phase = np.where(is_bought, (target - (window - 1)) % CYCLE_CLICKS, phase)
    lane_index = np.where(is_bought, group_in_window, (group_in_window + shift) % groups)
    cycle, place = np.divmod(window - is_bought + phase, CYCLE_CLICKS)
    begin = np.where(second, CYCLE_CLICKS + lines, _BEFORE_FIRST_ORDER)
    return _Positions(
        place=place,
        cycle=(cycle * groups + lane_index) * CYCLE_CLICKS + phase,
        sale=np.where(is_bought, 1 + 2 * group + second, 0),
        time=group * GROUP_ROWS + np.where(is_bought, begin, row),
    )


def _users(params: Params, seed: int, places: _Positions) -> Ints:
    """Return the user of each row; 0 for unknown visitors."""

    def draw_bits(lane: int, rows: Ints) -> Bits:
        return draw_at(seed, _CLICKS, lane, rows)

    visitors = [11 + below(draw_bits(lane, places.cycle), 11) for lane in _VISITORS]
    buyer = 3 + below(draw_bits(_BUYERS, places.cycle), 4)
    ends = (
        visitors[0], 32, 32 + visitors[1], 64, 64 + buyer, 73,
        73 + visitors[2], 105, 105 + visitors[3],
    )  # fmt: skip
    nth = np.zeros_like(places.place)
    for end in ends:
        nth += places.place >= end
    visit = places.cycle * CYCLE_VISITS + nth
    scaled = sizes(params)
    user = 1 + below(draw_bits(_USER, visit), scaled.customers)
    coin = below(draw_bits(_KNOWN, visit), 2) == 0
    buys = (nth == _FIRST_BUYER) | (nth == _SECOND_BUYER)
    popular = np.flatnonzero(buys & coin)
    bits = draw_bits(_POPULAR, visit[popular])
    user[popular] = 1 + popular_ids(bits, scaled.customers, scaled.customers_deviation)
    user[~buys & coin] = 0
    return user
