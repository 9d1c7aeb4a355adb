"""Computes the expected averages of query 4, by cumulative sums of the winners of a category."""

from streamlab.workloads.inputs.nexmark.oracles import winners_of
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, every_ms: int) -> Columns:
    """Return (ts, category, auctions, average) of each category and step in which an auction closed."""
    import pandas as pd  # heavy

    winners = pd.DataFrame(winners_of(data, every_ms, steps=2))
    category_prices = winners.groupby("category")["price"]
    winners["auctions"] = category_prices.cumcount() + 1
    winners["average"] = category_prices.cumsum() / winners["auctions"]
    last = winners.groupby(["ts", "category"]).tail(1)
    names = ("ts", "category", "auctions", "average")
    return {name: last[name].to_numpy() for name in names}
