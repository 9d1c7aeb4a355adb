"""Computes the expected bids of query 14, by masks and the texts of the bids."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.inputs.nexmark.schema import EURO_PER_DOLLAR_MILLI, letters
from streamlab.workloads.model import Columns, Input

_PART_OF_HOUR = np.array([1] * 7 + [2] + [0] * 11 + [2] + [1] * 4, dtype=np.int8)


def oracle(data: Input) -> Columns:
    """Return the selected bids in total order, with the columns of `OUTPUT`."""
    bids = bids_of(data, "auction", "bidder", "price", "extra")
    euro_cents, remainder = np.divmod(bids.fields["price"] * EURO_PER_DOLLAR_MILLI, 1000)
    above = (euro_cents > 1_000_000) | ((euro_cents == 1_000_000) & (remainder > 0))
    rows = np.flatnonzero(above & (euro_cents < 50_000_000))
    selected = {name: values[rows] for name, values in bids.fields.items()}
    ts = bids.ts[rows]
    moment = ts.astype("datetime64[ms]")
    hour = (moment - moment.astype("datetime64[D]")) // np.timedelta64(1, "h")
    texts = np.array([letters(text) for text in selected["extra"].tolist()], dtype="U6")
    return {
        "ts": ts,
        "auction": selected["auction"],
        "bidder": selected["bidder"],
        "price": euro_cents[rows] + (remainder[rows] >= 500),
        "day_part": _PART_OF_HOUR[hour.astype(np.int64)],
        "extra": selected["extra"],
        "c_count": np.char.count(texts, "c").astype(np.int32),
    }
