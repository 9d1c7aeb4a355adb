"""Query 5: bids of each auction in sliding windows -> the auctions with the most bids.

Each window's hot items are emitted once, one slide after the window ends, because operator `highest` first collects
the counts, which leave when the window ends.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.model.operators.program import SINGLE

OUTPUT = fields("ts", "auction", "bids")

MAX_TIES = 256
"""Largest number of hot items of a window; more end the run with an error."""

_HOT = np.dtype([("bids", np.int64), ("ties", np.int64), ("auction", np.int32, (MAX_TIES,))])


def program(slide_ms: int, slides: int) -> Query:
    """Return the query for windows of `slides` slides."""

    def add(w: Any, t: Any, out: Any) -> None:
        w[0].bids[(t.ts - w[0].left) // slide_ms] += 1

    def emit(w: Any, out: Any) -> None:
        bids = 0
        for k in range(slides):
            bids += w[0].bids[k]
        out.emit(w[0].key, bids)

    def slide(w: Any) -> None:
        for k in range(slides - 1):
            w[0].bids[k] = w[0].bids[k + 1]
        w[0].bids[slides - 1] = 0

    counts = Operator(
        name="counts",
        inputs=(InputType(name=EVENT, fields=fields("type", "auction")),),
        window=Window(advance=slide_ms, size=slide_ms * slides, type=SINGLE),
        output=OUTPUT,
        state=np.dtype([("bids", np.int64, (slides,))]),
        keys=_auction,
        update=add,
        expire=emit,
        slide=slide,
    )
    highest = Operator(
        name="highest",
        inputs=(InputType(name="count", fields=np.dtype(OUTPUT.descr[1:])),),
        window=Window(advance=slide_ms, size=slide_ms),
        output=OUTPUT,
        state=_HOT,
        keys=_all,
        update=_collect_highest,
        expire=_emit_highest,
        max_outputs=MAX_TIES,
    )
    return Query(name="nexmark_q5", operators=(counts, highest))


def _auction(t: Any, out: Any) -> None:
    """Add the auction of a bid as key."""
    if t.type == BID:
        out.add(t.auction)


def _all(t: Any, out: Any) -> None:
    """Add the same key for all counts."""
    out.add(0)


def _collect_highest(w: Any, t: Any, out: Any) -> None:
    """Store an auction if its count is the highest so far, or equals it."""
    s = w[0]
    if t.bids > s.bids:
        s.bids = t.bids
        s.ties = 0
    if t.bids == s.bids:
        if s.ties < MAX_TIES:
            s.auction[s.ties] = t.auction
        s.ties += 1


def _emit_highest(w: Any, out: Any) -> None:
    s = w[0]
    if s.ties > MAX_TIES:
        raise ValueError(
            "more than 256 auctions have the most bids of a window; make windows longer"
        )
    for k in range(s.ties):
        out.emit(s.auction[k], s.bids)
