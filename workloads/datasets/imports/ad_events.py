"""Imports events from the generator of the Yahoo streaming benchmark as the input `ads` (docs/data.md).

The benchmark has no locations. The location of a user is the address in the user's first good event, in the order of
the files. Events are up to a minute late, so this kind always sorts.

A text of the dictionary `ads` is an ad and its campaign, separated by a tab. A text of `users` is a user and the
location. These are the tables for the queries' look-ups (`streamlab.workloads.inputs.ads.tables`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import (
    BadRowError,
    Cells,
    Transform,
    object_of,
    text_of,
)
from streamlab.workloads.datasets.imports.kind import (
    ImportKind,
    ImportOptions,
    Lines,
    Setting,
    lookup_cells,
)
from streamlab.workloads.datasets.sorted_runs import take_rows
from streamlab.workloads.datasets.stream_table import event_columns, numbered_streams, share_rows
from streamlab.workloads.datasets.text.csv_text import LINE
from streamlab.workloads.inputs.ads.schema import CLICK, EVENT, FIELDS, INPUT, TYPES
from streamlab.workloads.inputs.ads.tables import ADS, SEPARATOR, USERS
from streamlab.workloads.model import Block

COLUMNS = (
    ("user", "string"),
    ("page", "string"),
    ("ad", "string"),
    ("type", "int8"),
    ("clicked", "int8"),
)
"""Columns of a row after `ts`. A clicked row becomes an event of its type and, directly after it, a click."""


def lookup_entry(role: str, text: str, value: str) -> str:
    """Return a dictionary entry: a text and the value that its look-up returns; raises `BadRowError` for a tab."""
    for part in (text, value):
        if SEPARATOR in part:
            raise BadRowError(f"{role} {part!r} has a tab, which must separate ids from look-ups")
    return f"{text}{SEPARATOR}{value}"


def campaign_table(
    tables: Iterable[Cells], pairs_of: Callable[..., Iterable[tuple[str, str]]], *roles: str
) -> dict[str, str]:
    """Return the campaign of each ad.

    Args:
        tables: the cells of the tables.
        pairs_of: returns the pairs (ad, campaign) of a row.
        roles: the columns whose texts are the arguments of `pairs_of`.

    Raises:
        DatasetError: a row is bad, or an ad is in two campaigns.
    """
    campaigns: dict[str, str] = {}

    def add(*texts: str) -> None:
        for ad, campaign in pairs_of(*texts):
            if campaigns.setdefault(ad, campaign) != campaign:
                raise BadRowError(f"ad {ad!r} is in campaign {campaigns[ad]!r} in a row above")

    for cells in tables:
        cells.map_rows(add, *(cells.texts(role).to_pylist() for role in roles))
        cells.check()
    return campaigns


def _share(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the events of one stream: its rows, and a click directly after each clicked row."""
    for share in share_rows("row", count, index, blocks):
        clicked = np.asarray(share["clicked"]) != 0
        rows = np.repeat(np.arange(len(clicked)), 1 + clicked)
        is_click = np.zeros(len(rows), dtype=np.bool_)
        is_click[1:] = rows[1:] == rows[:-1]
        events = {name: take_rows(column, rows) for name, column in share.items()}
        yield {**events, "type": np.where(is_click, CLICK, np.asarray(events["type"]))}


import_of_ads = partial(
    ImportKind,
    workload=INPUT,
    columns=COLUMNS,
    dictionaries={USERS: "user", "pages": "page", ADS: "ad"},
    separator=SEPARATOR,
    kinds=(EVENT,),
    streams=lambda options, entries: numbered_streams(
        options.streams, EVENT, event_columns(FIELDS), _share, each_row=False
    ),
)
"""Makes an import kind of ad events."""

_DEFAULTS = {"ts": "", "user": "", "page": "", "ad": "", "type": 0, "clicked": 0}
"""Values for bad rows."""


def _transform(options: ImportOptions) -> Transform:
    """Return the function that computes user, page, ad, type and clicked of the events."""
    table = options.settings["campaigns"]
    if not table:
        raise DatasetError(
            "--campaigns is missing; give the file of JSON objects with the campaign of each ad, "
            "such as ad-to-campaign-ids.txt"
        )
    path = Path(table)
    campaigns = campaign_table(lookup_cells(Lines(), path, options), _pairs, LINE)
    if not campaigns:
        raise DatasetError(
            f'{path} has no campaigns; give a file of JSON objects such as {{"AD": "CAMPAIGN"}}'
        )
    return lambda cells: cells.parse_lines(partial(_event, campaigns), _DEFAULTS)


def _event(campaigns: dict[str, str], line: str) -> tuple[Any, ...]:
    """Return the columns of a line, in the order of `_DEFAULTS`."""
    fields = object_of(line)
    user, ad, kind = (text_of(fields, name) for name in ("user_id", "ad_id", "event_type"))
    if kind not in TYPES:
        raise BadRowError(f"field event_type is {kind!r}, not one of {', '.join(TYPES)}")
    if ad not in campaigns:
        raise BadRowError(f"ad {ad!r} is in no campaign of --campaigns")
    ts = _time(fields.get("event_time"))
    page, address = text_of(fields, "page_id"), text_of(fields, "ip_address")
    user = lookup_entry("user", user, address)
    return ts, user, page, lookup_entry("ad", ad, campaigns[ad]), TYPES.index(kind), 0


def _time(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadRowError(f"field event_time is {value!r}, not milliseconds since 1970")
    return str(value)


def _pairs(line: str) -> list[tuple[str, str]]:
    """Return the pairs (ad, campaign) of a line."""
    pairs = object_of(line)
    return [(ad, text_of(pairs, ad)) for ad in pairs]


AD_EVENTS = import_of_ads(
    name="ad-events",
    help="events of the Yahoo streaming benchmark, one JSON object a line",
    file_format=Lines(),
    transform=_transform,
    settings=(
        Setting(
            name="campaigns",
            default="",
            file=True,
            help="JSON objects with the campaign of each ad (ad-to-campaign-ids.txt).",
        ),
    ),
    time="ms",
    sorts=True,
)
