"""Generates page views on several streams, each with all pages, and a stream of page updates."""

import numpy as np

from streamlab.workloads.datasets.cadence import rows_per_stream, sync_ticks, ticks
from streamlab.workloads.datasets.drift import shift_keys
from streamlab.workloads.datasets.random import below, draw, zipf
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

ZIP_FIRST, ZIP_COUNT = 10_000, 90_000
"""Metadata are zip codes, uniform in [10000, 99999], as in the paper's public Flink program."""

KINDS = ("view", "update")
_PAGE, _USER = 0, 1  # lanes of random numbers

PARAMETERS = {
    "streams": Parameter(default=2, help="number of view streams", minimum=1, maximum=1024),
    "pages": Parameter(default=2, help="number of pages", minimum=1, maximum=1_000_000),
    "skew": Parameter(
        default=0.0,
        help="Zipf exponent of the views over the pages; 0 is uniform",
        minimum=0.0,
        maximum=10.0,
    ),
    "drift": Parameter(
        default=0,
        help="views of each view stream after which another page becomes the most frequent, with a "
        "skew; 0: never",
        minimum=0,
        maximum=2**31,
    ),
    "views_per_update": Parameter(
        default=10_000,
        help="views of each view stream between two updates; each update is of one page, and pages "
        "take turns",
        minimum=1,
        maximum=2**31,
    ),
    "users": Parameter(
        default=100_000, help="number of users, uniform over the views", minimum=1, maximum=2**31
    ),
}


def keys(params: Params) -> int:
    """Return the number of keys: the pages."""
    return int(params["pages"])


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the view streams, then the update stream."""
    count, period = int(params["streams"]), int(params["views_per_update"])
    rows = rows_per_stream(events, count, period)
    view, update = np.dtype([("user", np.int32)]), np.dtype([("meta", np.int32)])
    return (
        *(
            StreamSpec(name=f"view-{index}", kinds=("view",), fields=view, events=rows)
            for index in range(count)
        ),
        StreamSpec(name="update", kinds=("update",), fields=update, events=rows // period),
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream; without `tag` if there is only one page."""
    pages = int(params["pages"])
    if specs[index].name == "update":
        ts = sync_ticks(begin, end, int(params["views_per_update"]))
        page = np.arange(begin, end, dtype=np.int64) % pages
        meta = ZIP_FIRST + below(draw(seed, index, 0, begin, end), ZIP_COUNT)
        payload: Columns = {"meta": meta.astype(np.int32)}
    else:
        ts = ticks(begin, end)
        page = zipf(draw(seed, index, _PAGE, begin, end), pages, float(params["skew"]))
        if drift := int(params["drift"]):
            page = shift_keys(page, begin, pages, drift)
        user = below(draw(seed, index, _USER, begin, end), int(params["users"]))
        payload = {"user": user.astype(np.int32)}
    if pages == 1:
        return {"ts": ts, **payload}
    tag = KINDS.index(specs[index].kinds[0]) + len(KINDS) * page
    return {"ts": ts, "tag": tag.astype(np.int32), **payload}
