"""Declares the common parts of workloads on tweets: windows and ways of counting."""

from functools import partial

from streamlab.workloads.inputs.query_workload import declare_workload
from streamlab.workloads.inputs.tweets import generate
from streamlab.workloads.inputs.tweets.schema import INPUT
from streamlab.workloads.model import ModelError, Parameter, Params


def window_parameters(wa_ms: int, ws_ms: int) -> dict[str, Parameter]:
    """Return the query parameters of sliding windows, with defaults in ms of event time."""
    return {
        "wa_ms": Parameter(default=wa_ms, help="window advance (event time)", minimum=1),
        "ws_ms": Parameter(default=ws_ms, help="window size (event time)", minimum=1),
    }


SET, BAG = COUNTINGS = ("set", "bag")

COUNTING = {
    "counting": Parameter(
        default=SET,
        help="set: a key that occurs twice in a tweet counts once, as in Operator 14; bag: it "
        "counts twice, as in Algorithms 11 and 13",
    ),
}
"""The query parameter of workloads that count."""


def counts_bag(query: Params) -> bool:
    """Return whether repeated keys of a tweet count each time.

    Raises:
        ModelError: query parameter `counting` has an unknown value.
    """
    counting = query["counting"]
    if counting not in COUNTINGS:
        raise ModelError(f"query parameter counting is {counting!r}; give {' or '.join(COUNTINGS)}")
    return counting == BAG


def counting_arguments(query: Params) -> dict[str, object]:
    """Return the query parameters with `bag` in place of `counting`."""
    values = {name: value for name, value in query.items() if name != "counting"}
    return {**values, "bag": counts_bag(query)}


declare_tweets_workload = partial(declare_workload, generate, input=INPUT)
"""Declares a workload on tweets."""
