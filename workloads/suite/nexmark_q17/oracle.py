"""Computes the expected statistics of query 17, by cumulative functions of the bids of an auction and day."""

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.nexmark_q17.program import OUTPUT


def oracle(data: Input, day_ms: int) -> Columns:
    """Return the statistics after each bid, in total order."""
    import pandas as pd  # heavy

    events = bids_of(data, "auction", "price")
    bids = pd.DataFrame({"ts": events.ts, **events.fields, "day": events.ts // day_ms})
    bids["bids_low"] = (bids["price"] < 10_000).astype("int64")
    bids["bids_middle"] = bids["price"].between(10_000, 999_999).astype("int64")
    bids["bids_high"] = (bids["price"] > 999_999).astype("int64")
    grouped = bids.groupby(["auction", "day"])
    counts = ["bids_low", "bids_middle", "bids_high"]
    so_far = bids.assign(
        bids=grouped.cumcount() + 1,
        lowest=grouped["price"].cummin(),
        highest=grouped["price"].cummax(),
        sum=grouped["price"].cumsum(),
        **{name: grouped[name].cumsum() for name in counts},
    )
    so_far["average"] = so_far["sum"] / so_far["bids"]
    return {name: so_far[name].to_numpy() for name in OUTPUT.names or ()}
