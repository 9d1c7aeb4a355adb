"""Generates two logical streams of numbered tuples at the same constant rate, with ties in time."""

import numpy as np

from streamlab.workloads.datasets.cadence import rows_of, shares_of, tuples_of
from streamlab.workloads.datasets.random import below, draw
from streamlab.workloads.datasets.rate_script import STEADY, parse_rates
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

KINDS = ("left", "right")
FIELDS = np.dtype([("id", np.int64), ("value", np.int32)])

PARAMETERS = {
    "rate_eps": Parameter(
        default=50_000,
        help="tuples of each side in a second of event time",
        minimum=1,
        maximum=10**9,
    ),
    "streams": Parameter(
        default=1,
        help="physical streams of each side; tuples are assigned in turn",
        minimum=1,
        maximum=512,
    ),
}


def keys(params: Params) -> int:
    """Return 1: tags carry no key."""
    return 1


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams of the left side, then of the right side."""
    count = int(params["streams"])
    return tuple(
        StreamSpec(
            name=f"{kind}-{index}", kinds=(kind,), fields=FIELDS, events=rows_of(side, index, count)
        )
        for kind, side in zip(KINDS, shares_of(events, (1, 1)), strict=True)
        for index in range(count)
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream: `id` is unique over all streams."""
    count = int(params["streams"])
    tuples = tuples_of(begin, end, index % count, count)
    return {
        "ts": parse_rates(STEADY, "forward").times_ms(tuples, int(params["rate_eps"]), seed),
        "id": tuples_of(begin, end, index, len(specs)),
        "value": below(draw(seed, index, 0, begin, end), 1_000_000).astype(np.int32),
    }
