"""Generates Nexmark's events by the definition of its public generators (docs/nexmark.md).

Event e depends only on the seed and e: row i of stream s is event i * streams + s in order of event
time. Every `group` consecutive events are read out of order: the k-th is number k * 953 modulo `group`. The
lab sorts them, as it sorts all input; `late_by` records how late each event was read.
"""

from decimal import Context, Decimal
from functools import lru_cache
from math import gcd

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import (
    numbered_specs,
    one_key,
    rows_of,
    tuples_of,
    typed_columns,
)
from streamlab.workloads.datasets.random import Bits, below, below_each, draw_at
from streamlab.workloads.inputs.nexmark.schema import (
    ALPHABET,
    AUCTION,
    BID,
    CATEGORIES,
    CHANNELS,
    CITIES,
    EVENT,
    FIELDS,
    FIRST_AUCTION,
    FIRST_CATEGORY,
    FIRST_MS,
    FIRST_PERSON,
    HOT_CHANNELS,
    LETTERS,
    NAMES,
    PERSON,
    STATES,
)
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec

Ints = npt.NDArray[np.int64]

_ALL = 0  # stream of random numbers for all events, whatever their stream
(_HOT, _OTHER, _HOT_PERSON, _PERSON, _PRICE, _RESERVE, _LENGTH, _TEXT, _CHANNEL, _CATEGORY) = range(
    10
)

PERSONS_IN, AUCTIONS_IN, EVENTS_IN = 1, 3, 50
"""Of every 50 events the first is a person, the next three are auctions, and the rest are bids."""

AHEAD = 10
"""Number of ids after the last id that may be chosen although they do not exist yet."""

BATCH = 100
"""Number of ids with one hot auction, bidder or seller."""

SHUFFLE = 953
"""Factor of the order of reading within a group."""

LARGEST_ID = 2**31 - 1

PARAMETERS = {
    "streams": streams_parameter("events", 2, most=64),
    "rate": Parameter(
        default=10_000,
        help="events of all streams in a second of event time",
        minimum=1,
        maximum=10**9,
    ),
    "hot_auctions": Parameter(
        default=2, help="one in this many bids is not for the hot auction", minimum=1, maximum=10**6
    ),
    "hot_bidders": Parameter(
        default=4, help="one in this many bids is not by the hot bidder", minimum=1, maximum=10**6
    ),
    "hot_sellers": Parameter(
        default=4,
        help="one in this many auctions is not of the hot seller",
        minimum=1,
        maximum=10**6,
    ),
    "in_flight": Parameter(
        default=100,
        help="latest auctions that bids are for; sets the length of auctions",
        minimum=1,
        maximum=10**6,
    ),
    "active": Parameter(
        default=1000, help="latest persons who bid and sell", minimum=1, maximum=10**6
    ),
    "group": Parameter(
        default=1,
        help="events read out of order within groups of this size",
        minimum=1,
        maximum=10**6,
    ),
}

keys = one_key


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` rows in all.

    Raises:
        ModelError: a size of groups that is a multiple of 953, or more auctions than ids.
    """
    if gcd(int(params["group"]), SHUFFLE) != 1:
        raise ModelError(f"nexmark: group is {params['group']}; give no multiple of {SHUFFLE}")
    if events // EVENTS_IN * AUCTIONS_IN > LARGEST_ID - FIRST_AUCTION - AHEAD - AUCTIONS_IN:
        raise ModelError(f"nexmark: {events:,} events have more auctions than ids; give fewer")
    count = int(params["streams"])
    rows = (rows_of(events, index, count) for index in range(count))
    return numbered_specs(EVENT, EVENT, FIELDS, rows)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    event = tuples_of(begin, end, index, len(specs))
    place = event % EVENTS_IN
    kind = np.full(len(event), BID, dtype=np.int64)
    kind[place < PERSONS_IN + AUCTIONS_IN] = AUCTION
    kind[place < PERSONS_IN] = PERSON
    columns = {name: np.zeros(len(event), dtype=np.int64) for name in FIELDS.names or ()}
    columns["type"] = kind
    columns["late_by"] = _late_by(params, event)
    for number, fill in ((PERSON, _persons), (AUCTION, _auctions), (BID, _bids)):
        rows = np.flatnonzero(kind == number)
        for name, values in fill(params, seed, event[rows]).items():
            columns[name][rows] = values
    return {"ts": times_ms(params, event), **typed_columns(columns, FIELDS)}


def times_ms(params: Params, event: Ints) -> Ints:
    """Return the times of events."""
    times: Ints = FIRST_MS + event * 1000 // int(params["rate"])
    return times


def _persons(params: Params, seed: int, event: Ints) -> dict[str, Ints]:
    return {
        "person": FIRST_PERSON + _last_person(event),
        "name": below(draw_at(seed, _ALL, _TEXT, event), NAMES),
        "city": below(draw_at(seed, _ALL, _OTHER, event), len(CITIES)),
        "state": below(draw_at(seed, _ALL, _HOT, event), len(STATES)),
    }


def _auctions(params: Params, seed: int, event: Ints) -> dict[str, Ints]:
    price = _price(draw_at(seed, _ALL, _PRICE, event))
    ts = times_ms(params, event)
    # The time in which the next `in_flight` auctions open.
    horizon = times_ms(params, event + int(params["in_flight"]) * EVENTS_IN // AUCTIONS_IN) - ts
    length = 1 + below_each(draw_at(seed, _ALL, _LENGTH, event), np.maximum(2 * horizon, 1))
    return {
        "person": _choose_person(params, seed, event, hot="hot_sellers", member=0),
        "auction": FIRST_AUCTION + _last_auction(event),
        "price": price,
        "reserve": price + _price(draw_at(seed, _ALL, _RESERVE, event)),
        "expires": ts + length,
        "category": FIRST_CATEGORY + below(draw_at(seed, _ALL, _CATEGORY, event), CATEGORIES),
        "name": below(draw_at(seed, _ALL, _TEXT, event), ALPHABET**LETTERS),
    }


def _bids(params: Params, seed: int, event: Ints) -> dict[str, Ints]:
    last = _last_auction(event)
    first = np.maximum(last - int(params["in_flight"]), 0)
    other = first + below_each(draw_at(seed, _ALL, _OTHER, event), last - first + 1 + AHEAD)
    is_hot = below(draw_at(seed, _ALL, _HOT, event), int(params["hot_auctions"])) > 0
    bits = draw_at(seed, _ALL, _CHANNEL, event)
    hot_channel = below(bits << np.uint64(1), len(HOT_CHANNELS))
    channel = len(HOT_CHANNELS) + below(bits << np.uint64(1), CHANNELS)
    return {
        "person": _choose_person(params, seed, event, hot="hot_bidders", member=1),
        "auction": FIRST_AUCTION + np.where(is_hot, last // BATCH * BATCH, other),
        "price": _price(draw_at(seed, _ALL, _PRICE, event)),
        "channel": np.where(bits >> np.uint64(63), hot_channel, channel),
        "extra": below(draw_at(seed, _ALL, _TEXT, event), ALPHABET**LETTERS),
    }


def _last_person(event: Ints) -> Ints:
    """Return the number of the last person up to each event, from 0."""
    return event // EVENTS_IN


def _last_auction(event: Ints) -> Ints:
    """Return the number of the last auction up to each event, from 0; -1 before the first."""
    epoch, place = np.divmod(event, EVENTS_IN)
    last: Ints = epoch * AUCTIONS_IN + np.minimum(place - PERSONS_IN, AUCTIONS_IN - 1)
    return last


def _choose_person(params: Params, seed: int, event: Ints, *, hot: str, member: int) -> Ints:
    """Return a person for each event: the hot person of its batch (number `member` there), or an active person."""
    last = _last_person(event)
    active = np.minimum(last + 1, int(params["active"]))
    other = last + 1 - active + below_each(draw_at(seed, _ALL, _PERSON, event), active + AHEAD)
    is_hot = below(draw_at(seed, _ALL, _HOT_PERSON, event), int(params[hot])) > 0
    chosen: Ints = FIRST_PERSON + np.where(is_hot, last // BATCH * BATCH + member, other)
    return chosen


_BINS_BITS, _WITHIN_BITS, _SCALE_BITS = 12, 20, 16
"""Bits of a table's index, of the place between two entries, and of the entries' fraction."""


def _price(bits: Bits) -> Ints:
    """Return 100 x 10^(6 u) cents, u uniform in [0, 1).

    Interpolates a table by integers, so prices are equal on every machine; they differ from the power by
    less than 2 in a million.
    """
    table = _powers()
    place = (bits >> np.uint64(64 - _BINS_BITS)).astype(np.int64)
    within = (bits >> np.uint64(64 - _BINS_BITS - _WITHIN_BITS)) & np.uint64(
        (1 << _WITHIN_BITS) - 1
    )
    low, step = table[place], np.diff(table)[place]
    total = (low << _WITHIN_BITS) + step * within.astype(np.int64)
    shift = _WITHIN_BITS + _SCALE_BITS
    price: Ints = (total + (1 << (shift - 1))) >> shift
    return price


@lru_cache(maxsize=1)
def _powers() -> Ints:
    """Return 100 x 10^(6 k / 4096) for k = 0 ... 4096, in units of 2^-16."""
    context = Context(prec=24)
    sixth = Decimal(6) / (1 << _BINS_BITS)
    powers = (context.power(Decimal(10), sixth * k) for k in range((1 << _BINS_BITS) + 1))
    return np.array([int(100 * power * (1 << _SCALE_BITS)) for power in powers], dtype=np.int64)


def _late_by(params: Params, event: Ints) -> Ints:
    """Return the time by which each event is earlier than the latest event read before it."""
    first, place = np.divmod(event, int(params["group"]))
    latest = first * int(params["group"]) + _latest_before(int(params["group"]))[place]
    late_ms: Ints = np.maximum(times_ms(params, latest) - times_ms(params, event), 0)
    return late_ms


@lru_cache(maxsize=8)
def _latest_before(group: int) -> Ints:
    """Return, for each event of a group in order of time, the latest one that was read before it; -1 if none."""
    order = np.arange(group, dtype=np.int64) * SHUFFLE % group
    before = np.full(group, -1, dtype=np.int64)
    before[order[1:]] = np.maximum.accumulate(order)[:-1]
    return before
