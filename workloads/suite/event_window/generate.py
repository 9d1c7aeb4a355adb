"""Generates values in [0, 1000) on several streams and a stream of barriers."""

import numpy as np

from streamlab.workloads.datasets.cadence import rows_per_stream, sync_ticks, ticks
from streamlab.workloads.datasets.drift import AWAKE, awake_span, awake_ticks, era_of
from streamlab.workloads.datasets.random import below, draw
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

VALUE_LIMIT = 1000
"""Values are uniform below this, as in the paper's public Timely program."""

PARAMETERS = {
    "streams": Parameter(default=2, help="number of value streams", minimum=1, maximum=1024),
    "values_per_barrier": Parameter(
        default=10_000,
        help="values of each value stream between two barriers",
        minimum=1,
        maximum=2**31,
    ),
    "drift": AWAKE,
}


def keys(params: Params) -> int:
    """Return 1: tags carry no key."""
    return 1


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the value streams, then the barrier stream."""
    count, period = int(params["streams"]), int(params["values_per_barrier"])
    rows = rows_per_stream(events, count, period)
    era = era_of(params)
    span = awake_span(rows, count, era) if era else rows
    value = np.dtype([("value", np.int64)])
    return (
        *(
            StreamSpec(name=f"value-{index}", kinds=("value",), fields=value, events=rows)
            for index in range(count)
        ),
        StreamSpec(name="barrier", kinds=("barrier",), fields=np.dtype([]), events=span // period),
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    if specs[index].name == "barrier":
        return {"ts": sync_ticks(begin, end, int(params["values_per_barrier"]))}
    values = below(draw(seed, index, 0, begin, end), VALUE_LIMIT)
    era, count = era_of(params), int(params["streams"])
    ts = awake_ticks(begin, end, count, index, era) if era else ticks(begin, end)
    return {"ts": ts, "value": values}
