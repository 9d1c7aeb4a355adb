"""Tweets, the input of `wordcount`, `paircount` and `longest_tweet_per_hashtag` (STRETCH, 8.1).

One input for all three: a dataset that was generated or imported serves each of them.
"""

from workloads.tweets.generate import PARAMETERS, generate, keys, streams
from workloads.tweets.schema import INPUT, TWEET

__all__ = ["INPUT", "PARAMETERS", "TWEET", "generate", "keys", "streams"]
