"""Generates increments on several streams, each with all keys, and a stream of read-resets."""

import numpy as np

from streamlab.workloads.datasets.cadence import rows_per_stream, sync_ticks, ticks
from streamlab.workloads.datasets.random import draw, zipf
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

KINDS = ("increment", "read_reset")

PARAMETERS = {
    "streams": Parameter(default=2, help="number of increment streams", minimum=1, maximum=1024),
    "keys": Parameter(default=16, help="number of keys", minimum=1, maximum=1_000_000),
    "skew": Parameter(
        default=0.0,
        help="Zipf exponent of the increments over the keys; 0 is uniform",
        minimum=0.0,
        maximum=10.0,
    ),
    "increments_per_reset": Parameter(
        default=1_000,
        help="increments of each increment stream between two read-resets; each read-reset is of "
        "one key, and keys take turns",
        minimum=1,
        maximum=2**31,
    ),
}


def keys(params: Params) -> int:
    """Return the number of keys."""
    return int(params["keys"])


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the increment streams, then the read-reset stream."""
    count, period = int(params["streams"]), int(params["increments_per_reset"])
    rows = rows_per_stream(events, count, period)
    nothing = np.dtype([])
    return (
        *(
            StreamSpec(name=f"increment-{index}", kinds=("increment",), fields=nothing, events=rows)
            for index in range(count)
        ),
        StreamSpec(name="read_reset", kinds=("read_reset",), fields=nothing, events=rows // period),
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream; without `tag` if there is only one key."""
    n_keys = int(params["keys"])
    if specs[index].name == "read_reset":
        ts = sync_ticks(begin, end, int(params["increments_per_reset"]))
        key = np.arange(begin, end, dtype=np.int64) % n_keys
    else:
        ts = ticks(begin, end)
        key = zipf(draw(seed, index, 0, begin, end), n_keys, float(params["skew"]))
    if n_keys == 1:
        return {"ts": ts}
    tag = KINDS.index(specs[index].kinds[0]) + len(KINDS) * key
    return {"ts": ts, "tag": tag.astype(np.int32)}
