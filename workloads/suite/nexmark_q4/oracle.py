"""Computes the expected averages of query 4, by cumulative sums of the winners of a category."""

from streamlab.workloads.inputs.nexmark.oracles import winners_of
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, every_ms: int) -> Columns:
    """Return (ts, category, auctions, average) of each category and step in which an auction closed."""
    import pandas as pd  # heavy

    won = pd.DataFrame(winners_of(data, every_ms, steps=2))
    of_category = won.groupby("category")["price"]
    won["auctions"] = of_category.cumcount() + 1
    won["average"] = of_category.cumsum() / won["auctions"]
    last = won.groupby(["ts", "category"]).tail(1)
    names = ("ts", "category", "auctions", "average")
    return {name: last[name].to_numpy() for name in names}
