"""What the workloads on tweets declare alike: an aggregate for each key, over sliding windows."""

from functools import partial

from streamlab.workloads.inputs.query_workload import declared
from streamlab.workloads.inputs.tweets import generate
from streamlab.workloads.inputs.tweets.schema import INPUT
from streamlab.workloads.model import ModelError, Parameter, Params


def window_parameters(wa_ms: int, ws_ms: int) -> dict[str, Parameter]:
    """Return the query parameters of the windows, with these defaults in ms of event time."""
    return {
        "wa_ms": Parameter(default=wa_ms, help="window advance (event time)", minimum=1),
        "ws_ms": Parameter(default=ws_ms, help="window size (event time)", minimum=1),
    }


SET, BAG = COUNTINGS = ("set", "bag")

COUNTING = {
    "counting": Parameter(
        default=SET,
        help="set: a key that comes twice in a tweet counts once, as in Operator 14; bag: twice, "
        "as in Algorithms 11 and 13",
    ),
}
"""The query parameter of workloads that count."""


def counts_bag(query: Params) -> bool:
    """Return whether a key counts as often as a tweet has it.

    Raises:
        ModelError: the parameter is neither.
    """
    given = query["counting"]
    if given not in COUNTINGS:
        raise ModelError(f"counting is {' or '.join(COUNTINGS)}, got {given!r}")
    return given == BAG


on_tweets = partial(declared, generate, input=INPUT)
"""Declares a workload that takes tweets."""
