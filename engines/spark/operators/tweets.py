"""Defines the relations on tweets: sliding windows over the exploded keys of each tweet.

If the keys of a tweet are a set, arrays are made distinct before they are exploded. SQL array functions make the
pairs of words; no Python runs on tweets.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.operators.relation import Inputs, Relation
from streamlab.workloads.inputs.tweets import counts_bag
from streamlab.workloads.suite.paircount.program import FIRST


def _word_counts(inputs: Inputs) -> DataFrame:
    counts = _windows(inputs, _keys(inputs, "words"), F.count(F.lit(1)))
    return counts.selectExpr("ts", "key as word", "value as count", "src")


def _pair_counts(inputs: Inputs) -> DataFrame:
    pairs = _keys(inputs, _pairs(int(inputs.params["distance"])))
    counts = _windows(inputs, pairs, F.count(F.lit(1)))
    return counts.selectExpr("ts", "key as pair", "value as count", "src")


def _longest(inputs: Inputs) -> DataFrame:
    longest = _windows(inputs, _distinct("hashtags"), F.max("chars"))
    return longest.selectExpr("ts", "key as hashtag", "value as chars", "src")


def _keys(inputs: Inputs, keys: str) -> str:
    return keys if counts_bag(inputs.params) else _distinct(keys)


def _distinct(keys: str) -> str:
    return f"array_distinct({keys})"


def _pairs(distance: int) -> str:
    """Return the SQL of all pairs of words at most `distance` apart; 0: any two."""
    near = f"slice(words, at + 2, {distance})" if distance else "slice(words, at + 2, size(words))"
    pair = f"cast(first as bigint) * {FIRST}L + second"
    return f"flatten(transform(words, (first, at) -> transform({near}, second -> {pair})))"


def _windows(inputs: Inputs, keys: str, value: Column) -> DataFrame:
    """Return `ts`, `key`, `value` of every key in every window that ends by the end of the input."""
    advance, size = (f"{inputs.params[name]} milliseconds" for name in ("wa_ms", "ws_ms"))
    keyed = inputs.kinds["tweet"].select("time", "chars", F.explode(F.expr(keys)).alias("key"))
    window = F.window("time", size, advance).alias("window")
    values = keyed.groupBy(window, "key").agg(value.alias("value"))
    right = F.expr(inputs.clock.back("window.end")).alias("ts")
    values = values.select(right, "key", "value", F.lit(0).cast("short").alias("src"))
    # In a stream the watermark closes windows up to the end only; a table has no watermark.
    return values if inputs.streaming else values.where(F.col("ts") <= inputs.clock.end)


RELATIONS: Mapping[str, Relation] = {
    "wordcount": Relation(build=_word_counts, delay_ms=0, closes=True),
    "paircount": Relation(build=_pair_counts, delay_ms=0, closes=True),
    "longest_tweet_per_hashtag": Relation(build=_longest, delay_ms=0, closes=True),
}
