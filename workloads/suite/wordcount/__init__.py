"""Wordcount: counts the words of tweets over sliding windows."""

from functools import partial

from streamlab.workloads.inputs.query_workload import output_per_key
from streamlab.workloads.inputs.tweets.declaration import (
    COUNTING,
    counts_bag,
    declare_tweets_workload,
    window_parameters,
)
from streamlab.workloads.model import Bound, Params
from streamlab.workloads.suite.wordcount.oracle import oracle
from streamlab.workloads.suite.wordcount.program import program

QUERY = window_parameters(60_000, 120_000) | COUNTING
OUTPUT = output_per_key("count", key_field="word")


def bind(query: Params) -> Bound:
    """Return the query and its oracle for query parameters."""
    wa_ms, ws_ms = (int(query[name]) for name in ("wa_ms", "ws_ms"))
    bag = counts_bag(query)
    return Bound(
        program=program(wa_ms, ws_ms, bag=bag),
        output=OUTPUT,
        oracle=partial(oracle, wa_ms=wa_ms, ws_ms=ws_ms, bag=bag),
    )


WORKLOAD = declare_tweets_workload(
    name="wordcount",
    title="How many tweets hold each word, over sliding windows",
    paper="STRETCH, section 8.1, Operator 14; counting = bag: Algorithm 11",
    query=QUERY,
    bind=bind,
)
