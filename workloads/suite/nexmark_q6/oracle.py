"""Computes the expected averages of query 6, by rolling means of the winners of a seller."""

from streamlab.workloads.inputs.nexmark.oracles import winners_of
from streamlab.workloads.model import Columns, Input

LATEST = 10


def oracle(data: Input, every_ms: int) -> Columns:
    """Return (ts, seller, average) of each seller and step in which an auction closed."""
    import pandas as pd  # heavy

    winners = pd.DataFrame(winners_of(data, every_ms, steps=2))
    seller_prices = winners.groupby("seller")["price"]
    sums, number = seller_prices.cumsum(), seller_prices.cumcount() + 1
    # The running sums ten auctions earlier. Prices are whole numbers, so differences of sums are exact.
    sums_before = sums.groupby(winners["seller"]).shift(LATEST, fill_value=0)
    winners["average"] = (sums - sums_before) / number.clip(upper=LATEST)
    last = winners.groupby(["ts", "seller"]).tail(1)
    return {name: last[name].to_numpy() for name in ("ts", "seller", "average")}
