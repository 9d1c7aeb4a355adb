"""Splits texts into words and hashtags for all imports of `tweets`, by the rule of `text.words`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from streamlab.workloads.datasets.imports.kind import Blocks, Derive, Dictionary, ImportOptions
from streamlab.workloads.datasets.rows import select_rows
from streamlab.workloads.datasets.stream_table import StreamTable, numbered_streams
from streamlab.workloads.datasets.text.words import tokens
from streamlab.workloads.model import Block, ColumnType, ListType

if TYPE_CHECKING:
    import pyarrow as pa

DICTIONARIES = (
    Dictionary(name="words", column="words"),
    Dictionary(name="hashtags", column="hashtags"),
    Dictionary(name="users", column="user"),
)

_DTYPES: dict[str, ColumnType] = {
    "ts": np.dtype(np.int64),
    "user": np.dtype(np.int32),
    "chars": np.dtype(np.int32),
    "words": ListType(np.dtype(np.int32)),
    "hashtags": ListType(np.dtype(np.int32)),
}


def prepare(blocks: Blocks, options: ImportOptions) -> Derive:
    """Return a function that replaces `text` by `chars`, `words` and `hashtags`."""
    return _tokenised


def _tokenised(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    import pyarrow as pa

    texts = [tokens(text) for text in batch.column("text").to_pylist()]
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


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of tweets, in round-robin order of time."""
    return numbered_streams(options.streams, "tweet", _DTYPES, _share)


def _share(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    begin = 0
    for block in blocks:
        turn = np.arange(begin, begin + len(block["ts"])) % count
        begin += len(turn)
        yield select_rows({**block, "user": block["users"]}, turn == index)
