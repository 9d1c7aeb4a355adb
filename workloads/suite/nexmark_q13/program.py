"""Query 13 as a pipeline with one stateless operator that reads an array."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import Pipeline, stateless

OUTPUT = fields("ts", "auction", "bidder", "price", "value")


def program(rows: int) -> Pipeline:
    """Return the pipeline for a table of this size."""
    table = np.arange(rows, 0, -1, dtype=np.int32)

    def join(t: Any, out: Any) -> None:
        if t.type == BID:
            out.emit(t.auction, t.person, t.price, table[t.auction % rows])

    return Pipeline(
        name="nexmark_q13",
        record=EVENT,
        event=fields("type", "auction", "person", "price"),
        stages=(stateless(name="join", output=OUTPUT, apply=join),),
    )
