"""Small inputs of Nexmark: events of a few persons and auctions, with ties, and events by hand."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.inputs.nexmark.schema import AUCTION, BID, EVENT, FIELDS, PERSON
from streamlab.workloads.model import Alphabet, Input, Stream

Row = dict[str, int]


def person(ts: int, id: int, **fields: int) -> Row:
    return {"ts": ts, "type": PERSON, "person": id, **fields}


def auction(ts: int, id: int, *, seller: int = 1, **fields: int) -> Row:
    return {"ts": ts, "type": AUCTION, "auction": id, "person": seller, **fields}


def bid(ts: int, auction: int, price: int, *, bidder: int = 1, **fields: int) -> Row:
    row = {"ts": ts, "type": BID, "auction": auction, "person": bidder, "price": price}
    return {**row, **fields}


def nexmark_input(*streams: list[Row]) -> Input:
    """Return an input of these streams, whose rows are in order of time."""
    made = []
    for index, rows in enumerate(streams):
        payload = {
            name: np.array([row.get(name, 0) for row in rows], dtype=FIELDS[name])
            for name in FIELDS.names or ()
        }
        ts = np.array([row["ts"] for row in rows], dtype=np.int64)
        made.append(Stream(name=f"event-{index}", kinds=(0,), ts=ts, tag=None, payload=payload))
    return Input(alphabet=Alphabet(kinds=(EVENT,), keys=1), streams=tuple(made))


@st.composite
def _rows(draw: st.DrawFn) -> list[Row]:
    few = st.integers(0, 3)
    event = {
        **dict.fromkeys(FIELDS.names or (), few),
        "ts": st.integers(0, 8) | st.integers(0, 40),
        "type": st.sampled_from([PERSON, AUCTION, AUCTION, BID, BID, BID]),
        "expires": st.integers(0, 20),
        "category": st.sampled_from([10, 11]),
        "price": few | st.integers(0, 10**9),
        "extra": few | st.integers(0, 26**6 - 1),
        "state": st.integers(0, 5),
    }
    rows: list[Any] = draw(st.lists(st.fixed_dictionaries(event), max_size=24))
    return sorted(rows, key=lambda row: row["ts"])


def nexmark_inputs() -> st.SearchStrategy[Input]:
    """Up to three streams; ids of persons and of auctions are unique."""
    return st.lists(_rows(), min_size=1, max_size=3).map(_with_unique_ids)


def _with_unique_ids(streams: list[list[Row]]) -> Input:
    seen: set[tuple[int, int]] = set()

    def is_first(row: Row) -> bool:
        of_type = {PERSON: (PERSON, row["person"]), AUCTION: (AUCTION, row["auction"])}
        key = of_type.get(row["type"])
        first = key is None or key not in seen
        seen.update({key} - {None})
        return first

    return nexmark_input(*([row for row in rows if is_first(row)] for rows in streams))
