"""Longest tweet: finds the longest tweet of each hashtag over sliding windows."""

from functools import partial

from streamlab.workloads.inputs.query_workload import output_per_key
from streamlab.workloads.inputs.tweets.declaration import declare_tweets_workload, window_parameters
from streamlab.workloads.model import Bound, Params
from streamlab.workloads.suite.longest_tweet_per_hashtag.oracle import oracle
from streamlab.workloads.suite.longest_tweet_per_hashtag.program import program

QUERY = window_parameters(1_800_000, 3_600_000)
OUTPUT = output_per_key("longest", key_field="hashtag")


def bind(query: Params) -> Bound:
    """Return the query and its oracle for query parameters."""
    wa_ms, ws_ms = (int(query[name]) for name in QUERY)
    return Bound(
        program=program(wa_ms, ws_ms),
        output=OUTPUT,
        oracle=partial(oracle, wa_ms=wa_ms, ws_ms=ws_ms),
    )


WORKLOAD = declare_tweets_workload(
    name="longest_tweet_per_hashtag",
    title="The longest tweet of each hashtag, over sliding windows",
    paper="STRETCH, section 1 and appendix D, Operator 9",
    query=QUERY,
    bind=bind,
)
