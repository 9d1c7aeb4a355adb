"""Provides the rows, dictionaries and streams that all imports of ad events share.

A text of the dictionary `ads` is an ad and its campaign, one of `users` a user and the location,
separated by a tab: the tables for the queries' look-ups (`streamlab.workloads.inputs.ads.tables`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from streamlab.workloads.datasets.imports.cells import BadRowError, Cells
from streamlab.workloads.datasets.imports.kind import Dictionary, ImportKind, ImportOptions
from streamlab.workloads.datasets.rows import take_rows
from streamlab.workloads.datasets.stream_table import (
    StreamTable,
    event_columns,
    numbered_streams,
    share_rows,
)
from streamlab.workloads.inputs.ads.schema import CLICK, EVENT, FIELDS, INPUT
from streamlab.workloads.inputs.ads.tables import ADS, SEPARATOR, USERS
from streamlab.workloads.model import Alphabet, Block

COLUMNS = (
    ("user", "string"),
    ("page", "string"),
    ("ad", "string"),
    ("type", "int8"),
    ("clicked", "int8"),
)
"""Columns of a row after `ts`. A clicked row gives an event of its type, and directly after it a click."""

DICTIONARIES = (
    Dictionary(name=USERS, column="user"),
    Dictionary(name="pages", column="page"),
    Dictionary(name=ADS, column="ad"),
)


def with_lookup(role: str, text: str, value: str) -> str:
    """Return an entry of a dictionary: a text and the value to look up for it.

    Raises:
        BadRowError: one of them has a tab.
    """
    for part in (text, value):
        if SEPARATOR in part:
            raise BadRowError(f"{role} {part!r} has a tab, which separates ids from look-ups here")
    return f"{text}{SEPARATOR}{value}"


def campaign_table(
    tables: Iterable[Cells], pairs_of: Callable[..., Iterable[tuple[str, str]]], *roles: str
) -> dict[str, str]:
    """Return the campaign of each ad.

    Args:
        tables: the cells of a file.
        pairs_of: returns the ads of a row, each with its campaign; raises `BadRowError`.
        roles: the columns whose texts are the arguments of `pairs_of`.

    Raises:
        DatasetError: a row is bad, or an ad is in two campaigns.
    """
    campaigns: dict[str, str] = {}

    def add(*texts: str) -> None:
        for ad, campaign in pairs_of(*texts):
            if campaigns.setdefault(ad, campaign) != campaign:
                raise BadRowError(f"ad {ad!r} is in campaign {campaigns[ad]!r} above")

    for cells in tables:
        cells.each(add, *(cells.texts(role).to_pylist() for role in roles))
        cells.check()
    return campaigns


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return `options.streams` streams, with the rows in round-robin order."""
    return numbered_streams(options.streams, EVENT, event_columns(FIELDS), _share)


def _share(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    for share in share_rows("row", count, index, blocks):
        clicked = np.asarray(share["clicked"]) != 0
        rows = np.repeat(np.arange(len(clicked)), 1 + clicked)
        is_click = np.zeros(len(rows), dtype=np.bool_)
        is_click[1:] = rows[1:] == rows[:-1]
        events = {name: take_rows(column, rows) for name, column in share.items()}
        yield {
            **events,
            "user": events[USERS],
            "page": events["pages"],
            "ad": events[ADS],
            "type": np.where(is_click, CLICK, np.asarray(events["type"])).astype(np.int8),
        }


def _alphabet(keys: int) -> Alphabet:
    return Alphabet(kinds=(EVENT,), keys=keys)


import_of_ads = partial(
    ImportKind,
    workload=INPUT,
    columns=COLUMNS,
    dictionaries=DICTIONARIES,
    keys=None,
    streams=streams,
    alphabet=_alphabet,
)
"""Makes an import kind of ad events."""
