"""Longest tweet: finds the longest tweet of each hashtag over sliding windows."""

from streamlab.workloads.inputs.query_workload import bind_arguments, output_per_key
from streamlab.workloads.inputs.tweets.declaration import declare_tweets_workload, window_parameters
from streamlab.workloads.suite.longest_tweet_per_hashtag.oracle import oracle
from streamlab.workloads.suite.longest_tweet_per_hashtag.program import program

QUERY = window_parameters(1_800_000, 3_600_000)
OUTPUT = output_per_key("longest", key_field="hashtag")


WORKLOAD = declare_tweets_workload(
    name="longest_tweet_per_hashtag",
    title="The longest tweet of each hashtag, over sliding windows",
    paper="STRETCH, section 1 and appendix D, Operator 9",
    query=QUERY,
    bind=bind_arguments(program, oracle, OUTPUT),
)
