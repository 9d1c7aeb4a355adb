"""Imports tweets as the input `tweets`: lines of `id|time|text`, or CSV with chosen columns (docs/data.md).

Archives of tweets are newest first, so rows are always sorted by time. Ties are in the order of files and lines.
`text.words` describes the split of texts into words.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.kind import (
    CSV_SETTINGS,
    TIME_SETTING,
    ImportKind,
    Lines,
    NamedColumns,
)
from streamlab.workloads.datasets.sorted_runs import select_rows
from streamlab.workloads.datasets.stream_table import numbered_streams
from streamlab.workloads.datasets.text.csv_text import LINE
from streamlab.workloads.datasets.text.words import tokenize
from streamlab.workloads.model import Block, ColumnType, ListType

_DTYPES: dict[str, ColumnType] = {
    "ts": np.dtype(np.int64),
    "user": np.dtype(np.int32),
    "chars": np.dtype(np.int32),
    "words": ListType(np.dtype(np.int32)),
    "hashtags": ListType(np.dtype(np.int32)),
}


def _tokenize(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Replace `text` by `chars`, `words` and `hashtags`."""
    texts = [tokenize(text) for text in batch.column("text").to_pylist()]
    chars, words, hashtags = zip(*texts, strict=True)
    unchanged = ("row", "ts", "user")
    list_type = pa.list_(pa.string())
    return pa.RecordBatch.from_arrays(
        [
            *(batch.column(name) for name in unchanged),
            pa.array(chars, pa.int32()),
            pa.array(words, list_type),
            pa.array(hashtags, list_type),
        ],
        [*unchanged, "chars", "words", "hashtags"],
    )


def _share(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the tweets of a stream, in round-robin order of time."""
    begin = 0
    for block in blocks:
        turn = np.arange(begin, begin + len(block["ts"])) % count
        begin += len(turn)
        yield select_rows(block, turn == index)


import_of_tweets = partial(
    ImportKind,
    workload="tweets",
    columns=(("user", "string"), ("text", "string")),
    derive=_tokenize,
    dictionaries={"words": "words", "hashtags": "hashtags", "users": "user"},
    kinds=("tweet",),
    streams=lambda options, entries: numbered_streams(options.streams, "tweet", _DTYPES, _share),
)
"""Makes an import kind of tweets."""

_LINE = r"(?s)^[^|]*\|(?P<ts>[^|]*)\|(?P<text>.*)$"
_MAX_CHARACTERS = 1 << 17
"""A longer text is not a tweet. Usually a quote or a line end is missing."""


def _columns(cells: Cells) -> dict[str, object]:
    """Return user and text."""
    user = cells.texts("user") if "user" in cells else pa.repeat("", len(cells))
    if LINE in cells:
        fields = pc.extract_regex(cells.texts(LINE), _LINE)
        cells.mark(np.asarray(fields.is_null()), "not of the form id|time|text")
        for role in ("ts", "text"):
            cells.add(role, pc.struct_field(fields, role))
        user = pa.repeat(Path(cells.part.file).stem, len(cells))
    ts, text = cells.times("ts"), cells.texts("text")
    length = np.asarray(pc.utf8_length(text))
    cells.mark(
        length > _MAX_CHARACTERS,
        lambda row: f"a text of {length[row]:,} characters, above {_MAX_CHARACTERS:,}",
    )
    return {"ts": ts, "user": user, "text": text}


TWEETS = import_of_tweets(
    name="tweets",
    help="tweets: lines of id|time|text, one file for each author, or CSV with --columns",
    file_format=NamedColumns(
        required_roles=("ts", "text"), default_format=Lines(fallback="cp1252")
    ),
    transform=lambda options: _columns,
    roles=("ts", "user", "text"),
    settings=(*CSV_SETTINGS, TIME_SETTING),
    sorts=True,
)
