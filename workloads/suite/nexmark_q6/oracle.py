"""Computes the expected averages of query 6, by rolling means of the winners of a seller."""

from streamlab.workloads.inputs.nexmark.oracles import winners_of
from streamlab.workloads.model import Columns, Input

LATEST = 10


def oracle(data: Input, every_ms: int) -> Columns:
    """Return (ts, seller, average) of each seller and step in which an auction closed."""
    import pandas as pd  # heavy

    won = pd.DataFrame(winners_of(data, every_ms, steps=2))
    of_seller = won.groupby("seller")["price"]
    upto, number = of_seller.cumsum(), of_seller.cumcount() + 1
    # The sum up to ten auctions before; whole numbers, so differences are exact.
    before = upto.groupby(won["seller"]).shift(LATEST, fill_value=0)
    won["average"] = (upto - before) / number.clip(upper=LATEST)
    last = won.groupby(["ts", "seller"]).tail(1)
    return {name: last[name].to_numpy() for name in ("ts", "seller", "average")}
