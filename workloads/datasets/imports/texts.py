"""Texts to words and hashtags, in Spark: what imports of `tweets` share.

In this order:

1. `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&#39;` are the characters that they stand for.
2. Web addresses (from `http://`, `https://` or `www.` to the next blank) and @mentions are left
   out: they are not words of the language, and nearly all of them occur once.
3. A hashtag is `#` with letters, digits and underscores after it, at least one a letter, where no
   letter, digit or underscore is before it. It goes to the hashtags, without `#`, and is no word.
4. A word is a maximal run of letters (with their accents) and digits; an apostrophe between two of
   them belongs to it, and the typographic one is written as the plain one.

Words and hashtags are in lower case (Unicode), in order, as often as they occur.
"""

from typing import TYPE_CHECKING

import numpy as np

from workloads.datasets.imports.kind import Dictionary, ImportOptions, Table
from workloads.model import ColumnType, ListType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORD = r"[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}\p{N}]+)*"
HASHTAG = r"(?<![\p{L}\p{M}\p{N}_])#([\p{L}\p{M}\p{N}_]*\p{L}[\p{L}\p{M}\p{N}_]*)"
ADDRESS = r"(?i)(?<![\p{L}\p{N}])(?:https?://|www\.)\S*"
MENTION = r"(?<![\p{L}\p{M}\p{N}_])@[\p{L}\p{M}\p{N}_]+"
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&"}

DICTIONARIES = (
    Dictionary(name="words", column="words"),
    Dictionary(name="hashtags", column="hashtags"),
    Dictionary(name="users", column="user"),
)

_IDS = {"user": "users_id", "words": "words_ids", "hashtags": "hashtags_ids"}
_DTYPES: dict[str, ColumnType] = {
    "ts": np.dtype(np.int64),
    "user": np.dtype(np.int32),
    "chars": np.dtype(np.int32),
    "words": ListType(np.dtype(np.int32)),
    "hashtags": ListType(np.dtype(np.int32)),
}


def tokenised(rows: "DataFrame", options: ImportOptions) -> "DataFrame":
    """Return rows with `chars`, `words` and `hashtags` instead of `text`: `ImportKind.prepare`.

    `chars` is the number of characters of the text with its addresses and mentions, entities
    replaced, without blanks at its ends.
    """
    from pyspark.sql import functions as f

    text = f.col("text")
    for entity, character in _ENTITIES.items():
        text = f.replace(text, f.lit(entity), f.lit(character))
    text = f.trim(f.regexp_replace(text, r"[\s\u00a0]+", " "))
    plain = f.regexp_replace(f.regexp_replace(text, ADDRESS, " "), MENTION, " ")
    plain = f.translate(f.lower(plain), "\u2019", "'")
    return rows.select(
        "row",
        "ts",
        "user",
        f.char_length(text).alias("chars"),
        f.regexp_extract_all(f.regexp_replace(plain, HASHTAG, " "), f.lit(WORD), f.lit(0)).alias(
            "words"
        ),
        f.regexp_extract_all(plain, f.lit(HASHTAG), f.lit(1)).alias("hashtags"),
    )


def streams(rows: "DataFrame", options: ImportOptions) -> tuple[Table, ...]:
    """Return the streams of tweets, dealt out in turn in order of time."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    chosen = rows.select(
        "row", "ts", "chars", *(f.col(ids).alias(name) for name, ids in _IDS.items())
    )
    if options.streams > 1:
        turn = f.row_number().over(Window.orderBy("ts", "row")) - 1
        chosen = chosen.withColumn("stream", turn % options.streams)
    else:
        chosen = chosen.withColumn("stream", f.lit(0))
    return tuple(
        Table(
            name=f"tweet-{index}",
            kinds=(0,),
            frame=chosen.filter(f.col("stream") == index),
            dtypes=_DTYPES,
            order=("ts", "row"),
        )
        for index in range(options.streams)
    )
