"""Web logs to `page_view_join`: views from the log, page updates derived from it.

Tab-separated, nine columns: host, logname, time (whole seconds), method, url, response, bytes,
referer, user agent; a first line with these names is skipped. Event time is in seconds.

- Every line is a view of its url by its host.
- The size of a page is known from lines that carry it: response 200, a method other than HEAD, a
  number of bytes. Other responses (304 not modified, redirects, errors) describe themselves.
- A line whose size differs from the last known size of its url (0 at first) is also an update of
  the page, with the size as metadata.
- Such an update comes after the view, since the view was asked for before the size was seen: the
  update stream is the last, so of equal timestamps all views come before all updates.
- With several streams, views go to a stream by the CRC-32 of their host.
"""

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
from workloads.model import Alphabet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = (
    "host", "logname", "time", "method", "url", "response", "bytes", "referer", "useragent",
)  # fmt: skip
KINDS = ("view", "update")
VIEW, UPDATE = 0, 1
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


def parse(line: Line, options: ImportOptions) -> Row | None:
    """Return (ts, host, url, size or None) of one line; None for the header.

    Raises:
        BadRowError: wrong number of columns, or a column that is not what it must be.
    """
    fields = line.text.split("\t")
    if line.number == 1 and tuple(field.lower() for field in fields) == COLUMNS:
        return None
    if len(fields) != len(COLUMNS):
        raise BadRowError(f"{len(fields)} columns instead of {len(COLUMNS)}")
    host, _, time, method, url, response, size, _, _ = fields
    if not host or not url:
        raise BadRowError(f"column {'url' if host else 'host'} is empty")
    seconds = _number("time", time, _INT64_MAX)
    status = _number("response", response, 999)
    size_bytes = None if size in ("", "-") else _number("bytes", size, _INT32_MAX)
    carries_page = status == 200 and method != "HEAD"
    return seconds, host, url, size_bytes if carries_page else None


def _number(column: str, text: str, limit: int) -> int:
    if not (text.isascii() and text.isdigit()):
        raise BadRowError(f"column {column} is {text!r}, not a whole number")
    if len(text) > 19 or int(text) > limit:
        raise BadRowError(f"column {column} is {text}, above {limit}")
    return int(text)


def streams(rows: "DataFrame", options: ImportOptions) -> tuple[Table, ...]:
    """Return the streams of views, and the stream of updates."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    page, count = f.col("pages_id"), options.streams
    views = rows.select(
        "row",
        "ts",
        (VIEW + len(KINDS) * page).cast("int").alias("tag"),
        f.col("users_id").alias("user"),
        (f.crc32(f.col("host").cast("binary")) % count).alias("stream"),
    )
    history = Window.partitionBy("pages_id").orderBy("ts", "row")
    updates = (
        rows.filter(f.col("size").isNotNull())
        .withColumn("before", f.lag("size", 1, 0).over(history))
        .filter(f.col("size") != f.col("before"))
        .select(
            "row",
            "ts",
            (UPDATE + len(KINDS) * page).cast("int").alias("tag"),
            f.col("size").alias("meta"),
        )
    )
    keys: dict[str, np.dtype[Any]] = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}
    return (
        *(
            Table(
                name=f"view-{index}",
                kinds=(VIEW,),
                frame=views.filter(f.col("stream") == index),
                dtypes={**keys, "user": np.dtype(np.int32)},
                order=("ts", "row"),
            )
            for index in range(count)
        ),
        Table(
            name="update",
            kinds=(UPDATE,),
            frame=updates,
            dtypes={**keys, "meta": np.dtype(np.int32)},
            order=("ts", "row"),
        ),
    )


ACCESS_LOG = ImportKind(
    name="access-log",
    workload="page_view_join",
    help="tab-separated web log (host logname time method url response bytes referer useragent)",
    columns=(("host", "string"), ("url", "string"), ("size", "int32")),
    read=read_lines,
    parse=parse,
    dictionaries=(
        Dictionary(name="pages", column="url"),
        Dictionary(name="users", column="host"),
    ),
    keys="pages",
    streams=streams,
    alphabet=lambda keys: Alphabet(kinds=KINDS, keys=keys),
)
