"""Tweets, the input of `wordcount`, `paircount` and `longest_tweet_per_hashtag` (STRETCH, 8.1).

One input for all three: a dataset that was generated or imported serves each of them.
"""

from streamlab.workloads.inputs.tweets.declaration import (
    COUNTING,
    counts_bag,
    on_tweets,
    window_parameters,
)

__all__ = ["COUNTING", "counts_bag", "on_tweets", "window_parameters"]
