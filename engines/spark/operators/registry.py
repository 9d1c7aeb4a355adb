"""The relations by workload, and in which forms each comes; Spark itself is imported on use."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlab.engines.spark.operators.relation import Relation

FORMS = {
    "forward": ("explode",),
    "longest_tweet_per_hashtag": ("window",),
    "nyse_hedge": ("pairs",),
    "paircount": ("window",),
    "scale_join": ("pairs", "bins"),
    "wordcount": ("window",),
}
"""By workload, the default form first, for both variants alike."""
TIMELESS = frozenset({"forward"})
"""Workloads whose relation makes no timestamps of event times: any that the model allows do."""


def relation(workload: str) -> "Relation":
    """Return the relation of a workload."""
    from streamlab.engines.spark.operators import forward, nyse_hedge, scale_join, tweets

    return {
        "forward": forward.FORWARD,
        "longest_tweet_per_hashtag": tweets.LONGEST_TWEET_PER_HASHTAG,
        "nyse_hedge": nyse_hedge.NYSE_HEDGE,
        "paircount": tweets.PAIRCOUNT,
        "scale_join": scale_join.SCALE_JOIN,
        "wordcount": tweets.WORDCOUNT,
    }[workload]
