"""Selects persons, auctions and bids of an input, for oracles."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.nexmark.schema import AUCTION, BID, PERSON, fields
from streamlab.workloads.model import Columns, Input

_ROLE = {PERSON: "id", AUCTION: "seller", BID: "bidder"}
"""The public name of column `person` in each type."""


@dataclass(frozen=True, slots=True)
class Events:
    """Events of one type in total order.

    Attributes:
        ts: times.
        row: places among the events of all types.
        fields: the requested fields.
    """

    ts: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    fields: Columns


def events_of(data: Input, kind: int, *names: str) -> Events:
    """Return the events of a type, with some fields; `id`, `seller` or `bidder` is the person."""
    columns = {name: "person" if name == _ROLE[kind] else name for name in names}
    events = total_order(data, fields("type", *columns.values()))
    row = np.flatnonzero(events.payload["type"] == kind)
    chosen = {name: events.payload[column][row] for name, column in columns.items()}
    return Events(events.ts[row], row.astype(np.int64), chosen)


def bids_of(data: Input, *names: str) -> Events:
    """Return the bids, as `events_of`."""
    return events_of(data, BID, *names)
