"""Paircount: counts pairs of nearby words in tweets over sliding windows."""

from streamlab.workloads.inputs.query_workload import bind_arguments, output_per_key
from streamlab.workloads.inputs.tweets.declaration import (
    COUNTING,
    counting_arguments,
    declare_tweets_workload,
    window_parameters,
)
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.paircount.oracle import oracle
from streamlab.workloads.suite.paircount.program import program

QUERY = window_parameters(60_000, 120_000) | {
    "distance": Parameter(
        default=3,
        help="maximum distance of the two words of a pair: 3, 10 and 0 (unbounded) are the paper's "
        "L, M and H",
        minimum=0,
        maximum=2**20,
    ),
    **COUNTING,
}
OUTPUT = output_per_key("count", key_field="pair")


WORKLOAD = declare_tweets_workload(
    name="paircount",
    title="How many tweets hold each pair of nearby words, over sliding windows",
    paper="STRETCH, section 8.1, Operator 14; counting = bag: Algorithm 13",
    query=QUERY,
    bind=bind_arguments(program, oracle, OUTPUT, counting_arguments),
)
