"""Generates transactions in [0, 100000) on several streams and a stream of rules."""

import numpy as np

from streamlab.workloads.datasets.cadence import rows_per_stream, sync_ticks, ticks
from streamlab.workloads.datasets.drift import AWAKE, awake_span, awake_ticks, era_of
from streamlab.workloads.datasets.random import below, draw
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

TRANSACTION_LIMIT = 100_000
RULE_LIMIT = 1000
"""Rules only matter modulo 1000."""

PARAMETERS = {
    "streams": Parameter(default=2, help="number of transaction streams", minimum=1, maximum=1024),
    "transactions_per_rule": Parameter(
        default=10_000,
        help="transactions of each transaction stream between two rules",
        minimum=1,
        maximum=2**31,
    ),
    "drift": AWAKE,
}


def keys(params: Params) -> int:
    """Return 1: tags carry no key."""
    return 1


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the transaction streams, then the rule stream."""
    count, period = int(params["streams"]), int(params["transactions_per_rule"])
    rows = rows_per_stream(events, count, period)
    era = era_of(params)
    span = awake_span(rows, count, era) if era else rows
    value = np.dtype([("value", np.int64)])
    return (
        *(
            StreamSpec(
                name=f"transaction-{index}", kinds=("transaction",), fields=value, events=rows
            )
            for index in range(count)
        ),
        StreamSpec(name="rule", kinds=("rule",), fields=value, events=span // period),
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    bits = draw(seed, index, 0, begin, end)
    if specs[index].name == "rule":
        ts = sync_ticks(begin, end, int(params["transactions_per_rule"]))
        return {"ts": ts, "value": below(bits, RULE_LIMIT)}
    era, count = era_of(params), int(params["streams"])
    ts = awake_ticks(begin, end, count, index, era) if era else ticks(begin, end)
    return {"ts": ts, "value": below(bits, TRANSACTION_LIMIT)}
