"""Imports Nexmark's events, JSON lines as nexmark-flink writes them, as the input `nexmark` (docs/nexmark.md).

A line has `event_type` (0 person, 1 auction, 2 bid) and an object `person`, `auction` or `bid`. Files may be in any
order of time. `late_by` of an event is the time between it and the latest event on the lines before it. The ids of all
persons and auctions (8 % of generated events) stay in memory until the end, some 150 bytes each.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.imports.cells import (
    BadRowError,
    Cells,
    Transform,
    object_of,
    text_of,
)
from streamlab.workloads.datasets.imports.kind import (
    TIME_SETTING,
    ImportKind,
    ImportOptions,
    Lines,
)
from streamlab.workloads.datasets.stream_table import event_columns, numbered_streams, share_rows
from streamlab.workloads.datasets.tables.lateness import Lateness
from streamlab.workloads.inputs.nexmark.schema import (
    ALPHABET,
    AUCTION,
    BID,
    EVENT,
    FIELDS,
    INPUT,
    LETTERS,
    PERSON,
    STATES,
)

Row = dict[str, object]

_TEXTS = {"names": "name", "cities": "city", "channels": "channel"}
"""The column of each dictionary."""

_COLUMNS = tuple(
    (name, "string" if name in _TEXTS.values() else FIELDS[name].name)
    for name in FIELDS.names or ()
)

_NOTHING: Row = {
    "ts": "",
    **{name: "" if kind == "string" else 0 for name, kind in _COLUMNS if name != "late_by"},
    "expires": "",
}
"""Values for bad rows, and for the columns that an event does not have."""


def _transform(options: ImportOptions) -> Transform:
    """Return the function that computes the columns of lines. The function stores ids and the latest time so far."""
    lateness = Lateness(bound=None)
    parse = partial(_event, set())

    def columns(cells: Cells) -> Mapping[str, object]:
        parsed = cells.parse_lines(parse, _NOTHING)
        expires = cells.times_of(pa.array(parsed["expires"], pa.string()))
        is_auction = np.equal(parsed["type"], AUCTION)
        good = cells.good()
        late_by = np.zeros(len(cells), np.int64)
        late_by[good] = lateness.measure(parsed["ts"][good])
        return {**parsed, "late_by": late_by, "expires": np.where(is_auction, expires, 0)}

    return columns


def _event(ids: set[tuple[int, int]], line: str) -> tuple[Any, ...]:
    """Return the columns of a line.

    `expires` of a person or bid is the time of the event, so that it can be parsed. `ids` has the types and ids of the
    persons and auctions so far; those of this line are added. Joins need unique ids.
    """
    fields = object_of(line)
    kind = fields.get("event_type")
    readers = {PERSON: ("person", _person), AUCTION: ("auction", _auction), BID: ("bid", _bid)}
    if type(kind) is not int or kind not in readers:
        raise BadRowError(f"field event_type is {kind!r}, not 0, 1 or 2")
    name, read = readers[kind]
    event = fields.get(name)
    if not isinstance(event, dict):
        raise BadRowError(f"field {name} is {event!r}, not an object")
    ts = _time(event, "dateTime")
    columns = read(event)
    if kind != BID:
        identity = (kind, _integer(event, "id"))
        if identity in ids:
            raise BadRowError(f"{name} {identity[1]} occurs twice")
        ids.add(identity)
    return (*{**_NOTHING, "ts": ts, "type": kind, "expires": ts, **columns}.values(),)


def _person(fields: Row) -> Row:
    state = text_of(fields, "state").upper()
    if state not in STATES:
        raise BadRowError(f"field state is {state!r}, not one of {', '.join(STATES)}")
    return {
        "person": _integer(fields, "id"),
        "name": text_of(fields, "name"),
        "city": text_of(fields, "city"),
        "state": STATES.index(state),
    }


def _auction(fields: Row) -> Row:
    return {
        "person": _integer(fields, "seller"),
        "auction": _integer(fields, "id"),
        "price": _integer(fields, "initialBid", 2**63),
        "reserve": _integer(fields, "reserve", 2**63),
        "expires": _time(fields, "expires"),
        "category": _integer(fields, "category"),
        "name": text_of(fields, "itemName"),
    }


def _bid(fields: Row) -> Row:
    """Return the columns of a bid; `extra` encodes the first LETTERS letters of a text as one number."""
    text = str(fields.get("extra", "")).lower()
    letters = [ord(letter) - ord("a") for letter in text if "a" <= letter <= "z"][:LETTERS]
    return {
        "person": _integer(fields, "bidder"),
        "auction": _integer(fields, "auction"),
        "price": _integer(fields, "price", 2**63),
        "channel": text_of(fields, "channel") if "channel" in fields else "",
        "extra": sum(letter * ALPHABET**index for index, letter in enumerate(letters)),
    }


def _integer(fields: Row, name: str, end: int = 2**31) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < end:
        raise BadRowError(f"field {name} is {value!r}, not a whole number from 0 to {end - 1}")
    return value


def _time(fields: Row, name: str) -> str:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadRowError(f"field {name} is {value!r}, not a time")
    return str(value)


NEXMARK = ImportKind(
    name="nexmark",
    workload=INPUT,
    help="events of Nexmark, JSON lines with event_type and an object person, auction or bid",
    file_format=Lines(),
    transform=_transform,
    columns=_COLUMNS,
    dictionaries=_TEXTS,
    kinds=(EVENT,),
    streams=lambda options, entries: numbered_streams(
        options.streams, EVENT, event_columns(FIELDS), partial(share_rows, "row")
    ),
    settings=(TIME_SETTING,),
    sorts=True,
    sequential=True,
)
