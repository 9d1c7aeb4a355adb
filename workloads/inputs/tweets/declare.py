"""What the workloads on tweets declare alike: an aggregate for each key, over sliding windows."""

from functools import partial

from workloads.inputs.declare import declared
from workloads.inputs.tweets import generate
from workloads.inputs.tweets.schema import INPUT
from workloads.model import Parameter


def window_parameters(wa_ms: int, ws_ms: int) -> dict[str, Parameter]:
    """Return the query parameters of the windows, with these defaults in ms of event time."""
    return {
        "wa_ms": Parameter(default=wa_ms, help="window advance (event time)", minimum=1),
        "ws_ms": Parameter(default=ws_ms, help="window size (event time)", minimum=1),
    }


on_tweets = partial(declared, generate, input=INPUT)
"""Declares a workload that takes tweets."""
