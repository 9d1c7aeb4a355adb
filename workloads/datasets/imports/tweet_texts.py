"""Texts to words and hashtags, by the rule of `text.words`: what imports of `tweets` share."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from streamlab.workloads.datasets.imports.kind import Blocks, Derive, Dictionary, ImportOptions
from streamlab.workloads.datasets.rows import where
from streamlab.workloads.datasets.stream_table import StreamTable, numbered
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
    """Return what puts `chars`, `words` and `hashtags` in the place of `text`."""
    return _tokenised


def _tokenised(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    import pyarrow as pa

    found = [tokens(text) for text in batch.column("text").to_pylist()]
    chars, words, hashtags = zip(*found, strict=True)
    kept = ("row", "ts", "user")
    texts = pa.list_(pa.string())
    return pa.RecordBatch.from_arrays(
        [
            *(batch.column(name) for name in kept),
            pa.array(chars, pa.int32()),
            pa.array(words, texts),
            pa.array(hashtags, texts),
        ],
        [*kept, "chars", "words", "hashtags"],
    )


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of tweets, dealt out in turn in order of time."""
    return numbered(options.streams, "tweet", _DTYPES, _dealt)


def _dealt(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    begin = 0
    for block in blocks:
        turn = np.arange(begin, begin + len(block["ts"])) % count
        begin += len(turn)
        yield where({**block, "user": block["users"]}, turn == index)
