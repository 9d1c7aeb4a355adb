"""Lists the relations of queries by workload, with their forms; imports Spark on use."""

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
"""Forms by workload, the default first, for both variants."""
TIMELESS = frozenset({"forward"})
"""Workloads whose relation uses no timestamps, so that event times are not restricted."""


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
