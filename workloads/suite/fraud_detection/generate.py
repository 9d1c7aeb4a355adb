"""Generates transactions in [0, 100000) on several streams and a stream of rules."""

import numpy as np

from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.drift import AWAKE
from streamlab.workloads.datasets.random import below, draw
from streamlab.workloads.inputs.synchronized_streams import Layout
from streamlab.workloads.model import Columns, Params, StreamSpec

__all__ = ["PARAMETERS", "generate", "keys", "streams"]

TRANSACTION_LIMIT = 100_000
RULE_LIMIT = 1000
"""Rules only matter modulo 1000."""

VALUE = np.dtype([("value", np.int64)])
LAYOUT = Layout(
    kind="transaction",
    sync="rule",
    period="transactions_per_rule",
    fields=VALUE,
    sync_fields=VALUE,
    drifts=True,
)
PARAMETERS = {**LAYOUT.parameters(10_000, "rules"), "drift": AWAKE}
streams = LAYOUT.streams


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    limit = RULE_LIMIT if LAYOUT.is_sync(params, index) else TRANSACTION_LIMIT
    values = below(draw(seed, index, 0, begin, end), limit)
    return {"ts": LAYOUT.times(params, index, begin, end), "value": values}
