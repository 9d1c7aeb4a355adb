"""Imports web logs as `page_view_join`: views from the log, and page updates derived from it (docs/data.md).

At equal times, views come before updates, because a request precedes the answer that shows the page's new size. So the
stream of updates is last.
"""

import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, Layout
from streamlab.workloads.datasets.sorted_runs import select_rows
from streamlab.workloads.datasets.stream_table import StreamTable, numbered_streams, share_rows
from streamlab.workloads.datasets.tables.cells import mask_of
from streamlab.workloads.model import Block

COLUMNS = (
    "host", "logname", "time", "method", "url", "response", "bytes", "referer", "useragent",
)  # fmt: skip
KINDS = ("view", "update")
VIEW, UPDATE = 0, 1
NO_SIZE = -1
"""The size of a page in a line that does not show it."""
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


def _columns(count: int, cells: Cells) -> dict[str, object]:
    """Return host, url, size (or NO_SIZE) and index of the stream."""
    host, url = cells.words("host"), cells.words("url")
    ts = cells.integers("time", _INT64_MAX)
    status = cells.integers("response", 999)
    size = cells.integers("bytes", _INT32_MAX, absent=("", "-"), default=NO_SIZE)
    has_size = (status == 200) & mask_of(pc.not_equal(cells.texts("method"), "HEAD"))
    return {
        "ts": ts,
        "host": host,
        "url": url,
        "size": np.where(has_size, size, NO_SIZE),
        "stream": cells.parse_texts(
            "host", lambda text: zlib.crc32(text.encode()) % count, pa.int32()
        ),
    }


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of views, and the stream of updates."""
    keys: dict[str, np.dtype[Any]] = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}
    return (
        *numbered_streams(options.streams, "view", {**keys, "user": np.dtype(np.int32)}, _views),
        StreamTable(
            name="update",
            kinds=(UPDATE,),
            dtypes={**keys, "meta": np.dtype(np.int32)},
            blocks=partial(_updates, entries["pages"]),
        ),
    )


def _views(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the views of one stream."""
    for view in share_rows("stream", count, index, blocks):
        yield {"ts": view["ts"], "tag": _tags(VIEW, view), "user": view["host"]}


def _updates(pages: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield an update for each row whose size differs from the last size of its page."""
    last = np.zeros(pages, dtype=np.int32)
    for block in blocks:
        sized = select_rows(block, np.asarray(block["size"]) != NO_SIZE)
        page, size = np.asarray(sized["url"]), np.asarray(sized["size"])
        update = select_rows(sized, size != _previous_sizes(page, size, last))
        yield {"ts": update["ts"], "tag": _tags(UPDATE, update), "meta": update["size"]}


def _tags(kind: int, block: Block) -> npt.NDArray[np.int32]:
    """Return the tags of rows, with the page as the key."""
    return kind + len(KINDS) * np.asarray(block["url"], dtype=np.int32)


def _previous_sizes(
    page: npt.NDArray[Any], size: npt.NDArray[Any], last: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return, for each row, the size of its page before the row.

    `last` holds the size of each page before the first row. It is updated to the sizes after the last row.
    """
    order = np.argsort(page, kind="stable")
    by_page, sizes = page[order], size[order]
    first = np.diff(by_page, prepend=-1) != 0
    previous = np.where(first, last[by_page], np.roll(sizes, 1))
    is_last_row = np.roll(first, -1)
    last[by_page[is_last_row]] = sizes[is_last_row]
    previous_sizes = np.empty(len(page), dtype=np.int32)
    previous_sizes[order] = previous
    return previous_sizes


ACCESS_LOG = ImportKind(
    name="access-log",
    workload="page_view_join",
    help="tab-separated web log (host logname time method url response bytes referer useragent)",
    file_format=Layout(
        names=COLUMNS, delimiter="\t", read=("host", "time", "method", "url", "response", "bytes")
    ),
    transform=lambda options: partial(_columns, options.streams),
    columns=(("host", "string"), ("url", "string"), ("size", "int32"), ("stream", "int32")),
    dictionaries={"pages": "url", "users": "host"},
    kinds=KINDS,
    keys="pages",
    streams=_streams,
    unit="s",
    invents=("update",),
)
