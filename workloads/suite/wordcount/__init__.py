"""Wordcount: counts the words of tweets over sliding windows."""

from streamlab.workloads.inputs.query_workload import bind_arguments, output_per_key
from streamlab.workloads.inputs.tweets.declaration import (
    COUNTING,
    counting_arguments,
    declare_tweets_workload,
    window_parameters,
)
from streamlab.workloads.suite.wordcount.oracle import oracle
from streamlab.workloads.suite.wordcount.program import program

QUERY = window_parameters(60_000, 120_000) | COUNTING
OUTPUT = output_per_key("count", key_field="word")


WORKLOAD = declare_tweets_workload(
    name="wordcount",
    title="How many tweets hold each word, over sliding windows",
    paper="STRETCH, section 8.1, Operator 14; counting = bag: Algorithm 11",
    query=QUERY,
    bind=bind_arguments(program, oracle, OUTPUT, counting_arguments),
)
