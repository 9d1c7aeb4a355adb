"""Generates values in [0, 1000) on several streams and a stream of barriers."""

import numpy as np

from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.drift import AWAKE
from streamlab.workloads.datasets.random import below, draw
from streamlab.workloads.inputs.synchronized_streams import Layout
from streamlab.workloads.model import Columns, Params, StreamSpec

__all__ = ["PARAMETERS", "generate", "keys", "streams"]

VALUE_LIMIT = 1000
"""Values are uniform below this, as in the paper's public Timely program."""

LAYOUT = Layout(
    kind="value",
    sync="barrier",
    period="values_per_barrier",
    fields=np.dtype([("value", np.int64)]),
    drifts=True,
)
PARAMETERS = {**LAYOUT.parameters(10_000, "barriers"), "drift": AWAKE}
streams = LAYOUT.streams


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    ts = LAYOUT.times(params, index, begin, end)
    if LAYOUT.is_sync(params, index):
        return {"ts": ts}
    return {"ts": ts, "value": below(draw(seed, index, 0, begin, end), VALUE_LIMIT)}
