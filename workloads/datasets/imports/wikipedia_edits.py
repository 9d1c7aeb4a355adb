"""Wikipedia edits to `keyed_counter`: an increment for each edit, read-resets at full hours.

JSON lines, each an object with `time` (ISO 8601; UTC where it names no zone) and `page` (the title;
pages of that title in several wikis count as one). Event time is in milliseconds since 1970.

- Every line is an increment of its page.
- At each full hour, every page edited so far is read and reset, in the order of page ids. The hour
  counts edits up to and including its last instant: of equal timestamps, increments come first.
- An hour in which no page at all was edited ends without read-resets: all its counts would be 0. A
  file with a few stray dates therefore does not grow by the hours between them.
- With several streams, edits go to them in turn.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.datasets.imports.kind import Dictionary, ImportKind, Row, Table
from workloads.datasets.imports.lines import BadRowError
from workloads.model import Alphabet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = ("increment", "read_reset")
INCREMENT, READ_RESET = 0, 1
HOUR_MS = 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def parse(number: int, text: str) -> Row:
    """Return (ts, page) of one line.

    Raises:
        BadRowError: not a JSON object, or a field is missing or not what it must be.
    """
    try:
        edit = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRowError(f"not JSON ({error})") from error
    if not isinstance(edit, dict):
        raise BadRowError(f"a JSON {type(edit).__name__} instead of an object")
    for field in ("time", "page"):
        if not isinstance(edit.get(field), str) or not edit[field]:
            shown = repr(edit[field]) if field in edit else "missing"
            raise BadRowError(f"field {field} is {shown}, not text")
    try:
        time = datetime.fromisoformat(edit["time"])
    except ValueError as error:
        raise BadRowError(f"field time is {edit['time']!r}, not an ISO 8601 time") from error
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    try:
        edit["page"].encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRowError("field page has half a surrogate pair, which is no text") from error
    return (time - _EPOCH) // _MILLISECOND, edit["page"]


def streams(rows: "DataFrame", count: int) -> tuple[Table, ...]:
    """Return `count` streams of increments, and the stream of read-resets."""
    from pyspark.sql import functions as f

    increments = rows.select(
        "row",
        "ts",
        (INCREMENT + len(KINDS) * f.col("pages_id")).cast("int").alias("tag"),
        (f.col("row") % count).alias("stream"),
    )
    ended = (f.ceil(f.col("ts") / f.lit(HOUR_MS)) * HOUR_MS).cast("bigint")
    hours = rows.select(ended.alias("ts")).distinct()
    pages = rows.groupBy("pages_id").agg(f.min(ended).alias("first"))
    resets = pages.join(f.broadcast(hours), f.col("ts") >= f.col("first")).select(
        "ts",
        (READ_RESET + len(KINDS) * f.col("pages_id")).cast("int").alias("tag"),
    )
    dtypes: dict[str, np.dtype[Any]] = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}
    return (
        *(
            Table(
                name=f"increment-{index}",
                kinds=(INCREMENT,),
                frame=increments.filter(f.col("stream") == index),
                dtypes=dtypes,
                order=("ts", "row"),
            )
            for index in range(count)
        ),
        Table(
            name="read_reset",
            kinds=(READ_RESET,),
            frame=resets,
            dtypes=dtypes,
            order=("ts", "tag"),
        ),
    )


WIKIPEDIA_EDITS = ImportKind(
    name="wikipedia-edits",
    workload="keyed_counter",
    help="Wikipedia recent changes, one JSON object a line with `time` and `page`",
    source="Wikipedia recent changes, as in the Apache Druid tutorial file",
    licence="Apache-2.0, as shipped by Apache Druid",
    columns=(("page", "string"),),
    parse=parse,
    dictionaries=(Dictionary(name="pages", column="page"),),
    keys="pages",
    streams=streams,
    alphabet=lambda keys: Alphabet(kinds=KINDS, keys=keys),
)
