"""Generates page views on several streams, each with all pages, and a stream of page updates."""

import numpy as np

from streamlab.workloads.datasets.drift import shift_keys
from streamlab.workloads.datasets.random import below, draw, zipf
from streamlab.workloads.inputs.parameters import skew_parameter
from streamlab.workloads.inputs.synchronized_streams import Layout
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

ZIP_FIRST, ZIP_COUNT = 10_000, 90_000
"""Metadata are zip codes, uniform in [10000, 99999], as in the paper's public Flink program."""

KINDS = ("view", "update")
_PAGE, _USER = 0, 1  # lanes of random numbers

LAYOUT = Layout(
    kind=KINDS[0],
    sync=KINDS[1],
    period="views_per_update",
    fields=np.dtype([("user", np.int32)]),
    sync_fields=np.dtype([("meta", np.int32)]),
)
_STREAMS = LAYOUT.parameters(10_000, "updates; each update is of one page, and pages take turns")

PARAMETERS = {
    "streams": _STREAMS["streams"],
    "pages": Parameter(default=2, help="number of pages", minimum=1, maximum=1_000_000),
    "skew": skew_parameter("the views over the pages"),
    "drift": Parameter(
        default=0,
        help="views of each view stream after which another page becomes the most frequent, with a "
        "skew; 0 means never",
        minimum=0,
        maximum=2**31,
    ),
    LAYOUT.period: _STREAMS[LAYOUT.period],
    "users": Parameter(
        default=100_000, help="number of users, uniform over the views", minimum=1, maximum=2**31
    ),
}
streams = LAYOUT.streams


def keys(params: Params) -> int:
    """Return the number of keys: the pages."""
    return int(params["pages"])


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream; without `tag` if there is only one page."""
    pages = keys(params)
    if LAYOUT.is_sync(params, index):
        page = np.arange(begin, end, dtype=np.int64) % pages
        meta = ZIP_FIRST + below(draw(seed, index, 0, begin, end), ZIP_COUNT)
        payload: Columns = {"meta": meta.astype(np.int32)}
    else:
        page = zipf(draw(seed, index, _PAGE, begin, end), pages, float(params["skew"]))
        if drift := int(params["drift"]):
            page = shift_keys(page, begin, pages, drift)
        user = below(draw(seed, index, _USER, begin, end), int(params["users"]))
        payload = {"user": user.astype(np.int32)}
    ts = LAYOUT.times(params, index, begin, end)
    return {"ts": ts, **LAYOUT.tagged(params, index, page, pages), **payload}
