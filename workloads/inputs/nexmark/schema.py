"""Defines the events of Nexmark: persons who register, auctions that open, and bids.

Source: Tucker and others, NEXMark - A Benchmark for Queries over Data Streams, 2002, as the generators
of Apache Beam and nexmark-flink define it. As in these, all events are one stream, and `type` tells them
apart. A column holds fields of the same role in several types; it is 0 for types without such a field.

Texts are numbers: `person_name`, `letters` and the tuples here give the texts of generated events. An
imported dataset has its own names, cities and channels; its dictionaries map the numbers to these texts.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

INPUT = "nexmark"
"""Name of this input in the catalogue."""

EVENT = "event"

PERSON, AUCTION, BID = TYPES = (0, 1, 2)

FIELDS = np.dtype(
    [
        ("late_by", np.int64),
        ("type", np.int8),
        ("person", np.int32),
        ("auction", np.int32),
        ("price", np.int64),
        ("reserve", np.int64),
        ("expires", np.int64),
        ("category", np.int32),
        ("name", np.int32),
        ("city", np.int32),
        ("state", np.int8),
        ("channel", np.int32),
        ("extra", np.int32),
    ]
)
"""Times are in milliseconds since 1970.

- `late_by`: how much earlier the event is than the latest event read before it.
- `person`: the person; the seller of an auction; the bidder of a bid.
- `auction`: the auction; the auction of a bid. 0 for persons.
- `price`: of a bid; the initial bid of an auction; in cents.
- `reserve`, `expires`, `category`: of an auction. It takes bids up to and including `expires`.
- `name`, `city`, `state`: of a person (`person_name`, `CITIES`, `STATES`).
  `name` is the item of an auction, too (`letters`).
- `channel`: of a bid (`channel_name`).
- `extra`: the first letters of a bid's filling text (`letters`).
"""

EURO_PER_DOLLAR_MILLI = 908
"""Thousandths of a euro for a dollar: 0.908 in Nexmark query 1."""

FIRST_MS = 1_436_918_400_000
"""Time of the first event, 2015-07-15, as in Beam."""

FIRST_PERSON = FIRST_AUCTION = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
"""Number of other channels, `channel-0` and so on."""

_FIRST_NAMES = (
    "Peter",
    "Paul",
    "Luke",
    "John",
    "Saul",
    "Vicky",
    "Kate",
    "Julie",
    "Sarah",
    "Deiter",
    "Walter",
)
_LAST_NAMES = (
    "Shultz",
    "Abrams",
    "Spencer",
    "White",
    "Bartels",
    "Walton",
    "Smith",
    "Jones",
    "Noris",
)
NAMES = len(_FIRST_NAMES) * len(_LAST_NAMES)

LETTERS, ALPHABET = 6, 26


def person_name(name: int) -> str:
    """Return the text of a generated person's name."""
    first, last = divmod(name, len(_LAST_NAMES))
    return f"{_FIRST_NAMES[first]} {_LAST_NAMES[last]}"


def channel_name(channel: int) -> str:
    """Return the text of a generated bid's channel."""
    other = channel - len(HOT_CHANNELS)
    return HOT_CHANNELS[channel] if other < 0 else f"channel-{other}"


def letters(number: int) -> str:
    """Return six letters from a to z: the digits of a number to base 26, lowest first."""
    return "".join(chr(ord("a") + number // ALPHABET**place % ALPHABET) for place in range(LETTERS))


_TYPES: Mapping[str, DTypeLike] = {
    **{name: FIELDS[name] for name in FIELDS.names or ()},
    **dict.fromkeys(("is_open", "has_bid", "day_part", "joins"), np.int8),
    **dict.fromkeys(("bidder", "seller", "item", "rank", "value", "c_count"), np.int32),
    **dict.fromkeys(("bits", "bidder_bits", "auction_bits"), np.int32),
    **dict.fromkeys(("ts", "bid_ts", "opened", "initial_bid", "day", "first", "last"), np.int64),
    **dict.fromkeys(("bids", "bids_low", "bids_middle", "bids_high"), np.int64),
    **dict.fromkeys(("lowest", "highest", "sum"), np.int64),
    "average": np.float64,
}
"""Types of fields, of events and of the records and states of operators; a name has one type in all queries."""


def fields(*names: str) -> np.dtype[np.void]:
    """Return the type of some fields, in this order: a program's event, or a record or state of an operator."""
    return np.dtype([(name, _TYPES[name]) for name in names])


FOREVER_MS = 2**42
"""Size of a window that holds all times from 1970 to 2109."""
