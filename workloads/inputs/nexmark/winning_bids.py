"""Builds the operator that finds the winning bid of each auction (queries 4, 6 and 9), and averages of winning prices.

A bid is valid from the opening of its auction to `expires`, inclusive. The highest price wins, and of
equal prices the first bid. The winner leaves at the end of the step of `every_ms` in which the auction
expires, when every bid up to `expires` has been processed. Auctions without a valid bid have no output.

The state of an auction ends with the auction. Bids for auctions that are not open leave a state until the
end of the step, because the event that opens the auction may follow at the same time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import AUCTION, EVENT, PERSON, fields
from streamlab.workloads.model import InputType, Operator, Parameter, Query, Window
from streamlab.workloads.model.operators.program import SINGLE

EVERY = {
    "every_ms": Parameter(
        default=100,
        help="auctions that expire within a step of this length close at its end (event time)",
        minimum=1,
        maximum=2**40,
    )
}
"""Query parameter of queries on closed auctions."""

STATE = fields(
    "is_open",
    "has_bid",
    "seller",
    "category",
    "item",
    "bidder",
    "opened",
    "expires",
    "initial_bid",
    "reserve",
    "bid_ts",
    "price",
)
"""An auction and its best bid so far; if the auction is not open, the best bid of the latest time."""


def winning_bids(
    every_ms: int, output: np.dtype[np.void], emit: Callable[[Any, Any], None]
) -> Operator:
    """Return the operator; `emit(w, out)` forwards the winner of auction `w.key` from its state `w`."""

    def keys(t: Any, out: Any) -> None:
        if t.type != PERSON:
            out.add(t.auction)

    def set_best_bid(w: Any, t: Any) -> None:
        """Store bid `t` as the best bid of auction state `w`."""
        w.has_bid = 1
        w.bidder = t.person
        w.bid_ts = t.ts
        w.price = t.price

    def update(w: Any, t: Any, out: Any) -> None:
        auction = w[0]
        if t.type == AUCTION:
            auction.is_open = 1
            auction.seller = t.person
            auction.category = t.category
            auction.item = t.name
            auction.opened = t.ts
            auction.expires = t.expires
            auction.initial_bid = t.price
            auction.reserve = t.reserve
            if auction.bid_ts != t.ts or t.expires < t.ts:
                auction.has_bid = 0
        elif auction.is_open:
            if t.ts <= auction.expires and (auction.has_bid == 0 or t.price > auction.price):
                set_best_bid(auction, t)
        elif auction.has_bid == 0 or t.ts > auction.bid_ts or t.price > auction.price:
            set_best_bid(auction, t)

    def expire(w: Any, out: Any) -> None:
        auction = w[0]
        if auction.is_open and auction.has_bid and auction.expires < auction.left + every_ms:
            emit(auction, out)

    def slide(w: Any) -> None:
        auction = w[0]
        if auction.is_open == 0 or auction.expires < auction.left:
            auction.is_open = 0
            auction.has_bid = 0
            auction.seller = 0
            auction.category = 0
            auction.item = 0
            auction.bidder = 0
            auction.opened = 0
            auction.expires = 0
            auction.initial_bid = 0
            auction.reserve = 0
            auction.bid_ts = 0
            auction.price = 0

    return Operator(
        name="winning_bids",
        inputs=(
            InputType(
                name=EVENT,
                fields=fields(
                    "type", "person", "auction", "price", "reserve", "expires", "category", "name"
                ),
            ),
        ),
        window=Window(advance=every_ms, size=every_ms, type=SINGLE),
        output=output,
        state=STATE,
        keys=keys,
        update=update,
        expire=expire,
        slide=slide,
    )


def averages_by_step(
    name: str,
    every_ms: int,
    *,
    winner: np.dtype[np.void],
    emit: Callable[[Any, Any], None],
    keys: Callable[[Any, Any], None],
    step: np.dtype[np.void],
    step_state: np.dtype[np.void],
    add: Callable[[Any, Any, Any], None],
    emit_step: Callable[[Any, Any], None],
    output: np.dtype[np.void],
    state: np.dtype[np.void],
    emit_average: Callable[[Any, Any, Any], None],
    most: int = 1,
) -> Query:
    """Return the query winning bids -> results of each step -> averages so far; the last two operators use `keys`.

    `emit` forwards winners of type `winner`, and `add` adds them in any order. At the end of a step, `emit_step`
    forwards up to `most` records of type `step`, from which `emit_average` makes the `output`.
    """
    step_results = Operator(
        name="step_results",
        inputs=(InputType(name="winner", fields=np.dtype(winner.descr[1:])),),
        window=Window(advance=every_ms, size=every_ms),
        output=step,
        state=step_state,
        keys=keys,
        update=add,
        expire=emit_step,
        max_outputs=most,
    )
    averages = Operator(
        name="averages",
        inputs=(InputType(name="step_result", fields=np.dtype(step.descr[1:])),),
        window=Window(advance=every_ms, size=every_ms, type=SINGLE),
        output=output,
        state=state,
        keys=keys,
        update=emit_average,
        emits_on_update=True,
        keeps_time=True,
    )
    operators = (winning_bids(every_ms, winner, emit), step_results, averages)
    return Query(name=name, operators=operators)
