"""Generates increments on several streams, each with all keys, and a stream of read-resets."""

import numpy as np

from streamlab.workloads.datasets.random import draw, zipf
from streamlab.workloads.inputs.parameters import skew_parameter
from streamlab.workloads.inputs.synchronized_streams import Layout
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

LAYOUT = Layout(kind="increment", sync="read_reset", period="increments_per_reset")
_STREAMS = LAYOUT.parameters(
    1_000, "read-resets; each read-reset is of one key, and keys take turns"
)

PARAMETERS = {
    "streams": _STREAMS["streams"],
    "keys": Parameter(default=16, help="number of keys", minimum=1, maximum=1_000_000),
    "skew": skew_parameter("the increments over the keys"),
    LAYOUT.period: _STREAMS[LAYOUT.period],
}
streams = LAYOUT.streams


def keys(params: Params) -> int:
    """Return the number of keys."""
    return int(params["keys"])


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream; without `tag` if there is only one key."""
    n_keys = keys(params)
    if LAYOUT.is_sync(params, index):
        key = np.arange(begin, end, dtype=np.int64) % n_keys
    else:
        key = zipf(draw(seed, index, 0, begin, end), n_keys, float(params["skew"]))
    ts = LAYOUT.times(params, index, begin, end)
    return {"ts": ts, **LAYOUT.tagged(params, index, key, n_keys)}
