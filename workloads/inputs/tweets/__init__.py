"""Input of `wordcount`, `paircount` and `longest_tweet_per_hashtag`: tweets (STRETCH, 8.1).

All three workloads read the same datasets.
"""

from streamlab.workloads.inputs.tweets.declaration import (
    COUNTING,
    counts_bag,
    declare_tweets_workload,
    window_parameters,
)

__all__ = ["COUNTING", "counts_bag", "declare_tweets_workload", "window_parameters"]
