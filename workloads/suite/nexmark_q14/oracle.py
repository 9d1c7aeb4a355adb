"""Computes the expected bids of query 14, by masks and the texts of the bids."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.inputs.nexmark.schema import EURO_PER_DOLLAR_MILLI, letters
from streamlab.workloads.model import Columns, Input

_PART_OF_HOUR = np.array([1] * 7 + [2] + [0] * 11 + [2] + [1] * 4, dtype=np.int8)


def oracle(data: Input) -> Columns:
    """Return the selected bids in total order, with the columns of `OUTPUT`."""
    bids = bids_of(data, "auction", "bidder", "price", "extra")
    whole, remainder = np.divmod(bids.fields["price"] * EURO_PER_DOLLAR_MILLI, 1000)
    above = (whole > 1_000_000) | ((whole == 1_000_000) & (remainder > 0))
    rows = np.flatnonzero(above & (whole < 50_000_000))
    chosen = {name: values[rows] for name, values in bids.fields.items()}
    ts = bids.ts[rows]
    moment = ts.astype("datetime64[ms]")
    hour = (moment - moment.astype("datetime64[D]")) // np.timedelta64(1, "h")
    texts = np.array([letters(text) for text in chosen["extra"].tolist()], dtype="U6")
    return {
        "ts": ts,
        "auction": chosen["auction"],
        "bidder": chosen["bidder"],
        "price": whole[rows] + (remainder[rows] >= 500),
        "day_part": _PART_OF_HOUR[hour.astype(np.int64)],
        "extra": chosen["extra"],
        "c_count": np.char.count(texts, "c").astype(np.int32),
    }
