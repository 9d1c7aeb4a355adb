"""Computes the expected persons of query 8, by a join of persons and sellers."""

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.nexmark.oracles import events_of
from streamlab.workloads.inputs.nexmark.schema import AUCTION, PERSON, fields
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, size_ms: int) -> Columns:
    """Return (ts, person, name) of persons who opened an auction in the window of their registration."""
    import pandas as pd  # heavy

    registered = events_of(data, PERSON, "id", "name")
    persons = pd.DataFrame({"person": registered.fields["id"], "name": registered.fields["name"]})
    persons["ts"] = (registered.ts // size_ms + 1) * size_ms
    opened = events_of(data, AUCTION, "seller")
    sellers = pd.DataFrame({"person": opened.fields["seller"]})
    sellers["ts"] = (opened.ts // size_ms + 1) * size_ms
    new_sellers = persons.merge(sellers.drop_duplicates(), on=["person", "ts"])
    new_sellers = new_sellers[
        new_sellers["ts"] <= final_watermark(data, total_order(data, fields()).ts)
    ]
    return {name: new_sellers[name].to_numpy() for name in ("ts", "person", "name")}
