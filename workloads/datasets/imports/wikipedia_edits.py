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
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.datasets.imports.kind import (
    BadRowError,
    Dictionary,
    ImportKind,
    ImportOptions,
    Row,
    Table,
)
from workloads.datasets.imports.lines import Line, read_lines
from workloads.datasets.imports.times import iso_ms
from workloads.model import Alphabet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = ("increment", "read_reset")
INCREMENT, READ_RESET = 0, 1
HOUR_MS = 3_600_000


def parse(line: Line, options: ImportOptions) -> Row:
    """Return (ts, page) of one line.

    Raises:
        BadRowError: not a JSON object, or a field is missing or not what it must be.
    """
    edit = edit_of(line)
    return edit_time(edit), text_of(edit, "page")


def edit_of(line: Line) -> dict[str, Any]:
    """Return the object of a line.

    Raises:
        BadRowError: not a JSON object.
    """
    try:
        edit = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        raise BadRowError(f"not JSON ({error})") from error
    if not isinstance(edit, dict):
        raise BadRowError(f"a JSON {type(edit).__name__} instead of an object")
    return edit


def edit_time(edit: dict[str, Any]) -> int:
    """Return the time of an edit in milliseconds since 1970.

    Raises:
        BadRowError: it is missing or no ISO 8601 time.
    """
    text = text_of(edit, "time")
    try:
        return iso_ms(text)
    except ValueError as error:
        raise BadRowError(f"field time is {text!r}, not an ISO 8601 time") from error


def text_of(edit: dict[str, Any], field: str, *, empty: bool = False) -> str:
    """Return a field's text, which may be empty only where that is said.

    Raises:
        BadRowError: it is missing or not text.
    """
    text = edit.get(field)
    if not isinstance(text, str) or not (text or empty):
        shown = repr(text) if field in edit else "missing"
        raise BadRowError(f"field {field} is {shown}, not text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRowError(f"field {field} has half a surrogate pair, which is no text") from error
    return text


def streams(rows: "DataFrame", options: ImportOptions) -> tuple[Table, ...]:
    """Return the streams of increments, and the stream of read-resets."""
    from pyspark.sql import functions as f

    count = options.streams
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
    columns=(("page", "string"),),
    read=read_lines,
    parse=parse,
    dictionaries=(Dictionary(name="pages", column="page"),),
    keys="pages",
    streams=streams,
    alphabet=lambda keys: Alphabet(kinds=KINDS, keys=keys),
)
