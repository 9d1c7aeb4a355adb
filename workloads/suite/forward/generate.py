"""Generates two logical streams of numbered tuples at the same constant rate, with ties in time."""

import numpy as np

from streamlab.workloads.datasets.cadence import numbered_specs, rows_of, shares_of, tuples_of
from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import below, draw
from streamlab.workloads.datasets.rate_script import STEADY, parse_rates
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

__all__ = ["FIELDS", "KINDS", "PARAMETERS", "generate", "keys", "streams"]

KINDS = ("left", "right")
FIELDS = np.dtype([("id", np.int64), ("value", np.int32)])

PARAMETERS = {
    "rate_eps": Parameter(
        default=50_000,
        help="tuples of each side in a second of event time",
        minimum=1,
        maximum=10**9,
    ),
    "streams": streams_parameter("tuples", each=" of each side"),
}


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams of the left side, then of the right side."""
    count = int(params["streams"])
    left, right = (
        numbered_specs(kind, kind, FIELDS, (rows_of(side, index, count) for index in range(count)))
        for kind, side in zip(KINDS, shares_of(events, (1, 1)), strict=True)
    )
    return left + right


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
