"""Imports Wikipedia edits as `keyed_counter`, and their comments as the input `tweets` (docs/data.md).

At the end of each hour with edits, every page edited so far is read and reset, in the order of page ids. The hour
includes its last instant: increments come before read-resets of the same time. An hour without edits has no
read-resets. So a few stray dates in a file do not add the hours between them.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.imports.cells import Cells, object_of, text_of
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, Lines
from streamlab.workloads.datasets.imports.tweets import import_of_tweets
from streamlab.workloads.datasets.sorted_runs import RANGE_ROWS
from streamlab.workloads.datasets.stream_table import (
    StreamTable,
    numbered_streams,
    share_rows,
)
from streamlab.workloads.model import Block

KINDS = ("increment", "read_reset")
INCREMENT, READ_RESET = 0, 1
HOUR_MS = 3_600_000

_MAY_BE_EMPTY = ("comment",)
"""Fields whose text may be empty."""


def _columns(fields: Mapping[str, str], cells: Cells) -> dict[str, object]:
    """Return the columns of edits; `fields` has the field of each column. The field of `ts` is a time."""

    def texts_of(line: str) -> list[str]:
        edit = object_of(line)
        return [
            text_of(edit, field, may_be_empty=field in _MAY_BE_EMPTY) for field in fields.values()
        ]

    return cells.parse_lines(texts_of, dict.fromkeys(fields, ""))


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of increments, and the stream of read-resets."""
    dtypes: dict[str, np.dtype[Any]] = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}
    return (
        *numbered_streams(options.streams, "increment", dtypes, _increments, kind=INCREMENT),
        StreamTable(
            name="read_reset",
            kinds=(READ_RESET,),
            dtypes=dtypes,
            blocks=partial(_resets, entries["pages"]),
        ),
    )


def _increments(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    for edits in share_rows("row", count, index, blocks):
        yield {"ts": edits["ts"], "tag": _tags(INCREMENT, np.asarray(edits["page"]))}


def _resets(pages: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield, at the end of each hour that has edits, a reset of every page edited so far."""
    edited = np.zeros(pages, dtype=np.bool_)
    hour_ms = None
    for block in blocks:
        ends_ms = -(-np.asarray(block["ts"]) // HOUR_MS) * HOUR_MS
        begins = np.flatnonzero(np.diff(ends_ms, prepend=ends_ms[0] - 1))
        for begin, end in pairwise((*begins.tolist(), len(ends_ms))):
            if hour_ms is not None and ends_ms[begin] != hour_ms:
                yield from _resets_at(hour_ms, edited)
            hour_ms = int(ends_ms[begin])
            edited[np.asarray(block["page"])[begin:end]] = True
    if hour_ms is not None:
        yield from _resets_at(hour_ms, edited)


def _resets_at(hour_ms: int, edited: npt.NDArray[np.bool_]) -> Iterator[Block]:
    """Yield a reset of each edited page at one time."""
    pages = np.flatnonzero(edited)
    for begin in range(0, len(pages), RANGE_ROWS):
        tags = _tags(READ_RESET, pages[begin : begin + RANGE_ROWS])
        yield {"ts": np.full(len(tags), hour_ms, dtype=np.int64), "tag": tags}


def _tags(kind: int, pages: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    return kind + len(KINDS) * pages.astype(np.int32)


WIKIPEDIA_EDITS = ImportKind(
    name="wikipedia-edits",
    workload="keyed_counter",
    help="Wikipedia recent changes, one JSON object a line with `time` and `page`",
    columns=(("page", "string"),),
    file_format=Lines(),
    transform=lambda options: partial(_columns, {"ts": "time", "page": "page"}),
    dictionaries={"pages": "page"},
    kinds=KINDS,
    keys="pages",
    streams=_streams,
    invents=("read_reset",),
)


WIKIPEDIA_COMMENTS = import_of_tweets(
    name="wikipedia-comments",
    help="comments of Wikipedia recent changes, one JSON object a line with `time`, `user` and "
    "`comment`",
    file_format=Lines(),
    transform=lambda options: partial(_columns, {"ts": "time", "user": "user", "text": "comment"}),
)
