"""Defines the price ranges of queries 15 to 17, and builds the pipelines of queries 15 and 16.

After each bid, a pipeline emits the numbers of bids, bidders and auctions of the day so far.

Its operators are: new bidders -> new auctions -> totals. A set of bits describes a bid: bit 0 for any price, bit 1 + r
for price range r. The first two operators find the bits that are new on a day for the bidder and for the auction. The
third operator adds the bits of all bids. There are statistics for each channel, or for all channels together.

Bidders and auctions of earlier days stay in the states, until they bid again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import Parameter, Pipeline, partitioned

LOW, HIGH = 10_000, 1_000_000
"""Prices below LOW are in range 0, prices below HIGH in range 1, and other prices in range 2."""

RANGES = 3

DAY = {
    "day_ms": Parameter(
        default=86_400_000, help="length of a day (event time)", minimum=1, maximum=2**40
    )
}
"""Query parameter of queries on days."""

PARTS = 1 + RANGES
"""Number of counts of each quantity: for any price, and for each range."""

COUNTS = tuple(
    f"{quantity}{part}"
    for quantity in ("bids", "bidders", "auctions")
    for part in ("", "_low", "_middle", "_high")
)
"""Columns of statistics, in this order."""

_SEEN = fields("day", "bits")
_TOTALS = np.dtype([("day", np.int64), ("counts", np.int64, (3 * PARTS,))])
_BIDDER = fields("ts", "channel", "auction", "bits", "bidder_bits")
_AUCTION = fields("ts", "channel", "bits", "bidder_bits", "auction_bits")


def price_range(price: Any) -> int:
    """Return the range of a price, 0 to 2."""
    if price < LOW:
        return 0
    return 1 if price < HIGH else 2


def statistics_columns(*names: str) -> np.dtype[np.void]:
    """Return the type of an output: these fields, `day` (days since 1970), and the statistics."""
    return np.dtype(
        [
            ("ts", np.int64),
            *((name, np.int32) for name in names),
            *((name, np.int64) for name in ("day", *COUNTS)),
        ]
    )


def bidding_statistics(
    name: str,
    day_ms: int,
    *,
    channel_of: Callable[[Any], int],
    output: np.dtype[np.void],
    emit: Callable[[Any, Any, Any], None],
) -> Pipeline:
    """Return the pipeline.

    Args:
        name: name of the pipeline.
        day_ms: length of a day.
        channel_of: returns the channel of a bid, or 0 for statistics of all channels.
        output: `statistics_columns`.
        emit: `emit(s, t, out)` forwards `s.day` and `s.counts`, the statistics of channel `t.channel`.
    """

    def bidder_key(t: Any) -> Any:
        return (int(channel_of(t)) << 32) + t.person

    def auction_key(t: Any) -> Any:
        return (int(t.channel) << 32) + t.auction

    def channel_key(t: Any) -> Any:
        return t.channel

    def new_bits(s: Any, ts: Any, bits: Any) -> Any:
        """Return the bits that a bidder or an auction did not have on the day of a bid."""
        day = ts // day_ms
        if s.day != day:
            s.day = day
            s.bits = 0
        unseen_bits = bits & ~s.bits
        s.bits |= bits
        return unseen_bits

    def new_bidders(s: Any, t: Any, out: Any) -> None:
        if t.type == BID:
            bits = 1 | 2 << price_range(t.price)
            out.emit(channel_of(t), t.auction, bits, new_bits(s, t.ts, bits))

    def new_auctions(s: Any, t: Any, out: Any) -> None:
        out.emit(t.channel, t.bits, t.bidder_bits, new_bits(s, t.ts, t.bits))

    def add(s: Any, t: Any, out: Any) -> None:
        day = t.ts // day_ms
        if s.day != day:
            s.day = day
            for k in range(3 * PARTS):
                s.counts[k] = 0
        for part in range(PARTS):
            s.counts[part] += t.bits >> part & 1
            s.counts[PARTS + part] += t.bidder_bits >> part & 1
            s.counts[2 * PARTS + part] += t.auction_bits >> part & 1
        emit(s, t, out)

    event = fields("type", "auction", "person", "price", "channel")
    return Pipeline(
        name=name,
        record=EVENT,
        event=event,
        stages=(
            partitioned(
                name="new_bidders", output=_BIDDER, key=bidder_key, state=_SEEN, apply=new_bidders
            ),
            partitioned(
                name="new_auctions",
                output=_AUCTION,
                key=auction_key,
                state=_SEEN,
                apply=new_auctions,
            ),
            partitioned(name="totals", output=output, key=channel_key, state=_TOTALS, apply=add),
        ),
    )
