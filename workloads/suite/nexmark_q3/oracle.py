"""Computes the expected rows of query 3, by a join of all persons with all auctions."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import events_of
from streamlab.workloads.inputs.nexmark.schema import AUCTION, PERSON, STATES
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return (ts, name, city, state, auction), by time."""
    import pandas as pd  # heavy

    person_events = events_of(data, PERSON, "id", "name", "city", "state")
    persons = pd.DataFrame({**person_events.fields, "registered": person_events.ts})
    local = persons[np.array(STATES)[persons["state"]] != "AZ"]
    local = local[~np.isin(np.array(STATES)[local["state"]], ["WA", "WY"])]
    auction_events = events_of(data, AUCTION, "seller", "auction", "category")
    auctions = pd.DataFrame({**auction_events.fields, "opened": auction_events.ts})
    local_auctions = auctions[auctions["category"] == 10].merge(
        local, left_on="seller", right_on="id"
    )
    local_auctions["ts"] = np.maximum(local_auctions["registered"], local_auctions["opened"])
    local_auctions = local_auctions.sort_values("ts")
    return {
        name: local_auctions[name].to_numpy() for name in ("ts", "name", "city", "state", "auction")
    }
