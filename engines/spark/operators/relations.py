"""Defines the relations of queries of operators, the same in batch and streaming.

Queries on tweets explode the keys of each tweet and count them in sliding windows. If the keys of a tweet are a set,
arrays are made distinct before they are exploded. SQL array functions make the pairs of words, without Python.

Spark joins streams, and spreads joins over tasks, only by equality. Time is therefore split into buckets, a fixed
number per window. A left tuple is in one bucket; a right tuple is copied to all buckets that its window reaches. Each
pair near in time meets in exactly one bucket, the left tuple's, where the exact conditions are checked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.operators.clock import Clock
from streamlab.workloads.inputs.tweets.declaration import counts_bag
from streamlab.workloads.model import Params
from streamlab.workloads.suite.paircount.program import FIRST
from streamlab.workloads.suite.scale_join.program import BAND


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of a relation.

    Attributes:
        kinds: all tuples by kind, with `ts`, `src` (the stream) and the kind's columns. If the relation uses event
            time, they also have `time`: `ts` as a timestamp, with a watermark when streaming.
        params: the workload's query parameters.
        clock: the shift from event times to timestamps.
        tasks: number of tasks of a heavy join.
        streaming: whether the query runs in micro-batches.
    """

    kinds: Mapping[str, DataFrame]
    params: Params
    clock: Clock
    tasks: int
    streaming: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The query of one workload.

    Attributes:
        build: returns the output, with `ts`, the fields of the program's output, and `src`, the stream of the tuple
            that caused a record, or 0.
        delay_ms: event time from the watermark to the latest event; None if the relation uses no event time.
        closes: whether outputs wait for the watermark, so that streams must end with heartbeats.
        aligned: whether micro-batches must end at the same event time in all streams, to keep outputs in time order.
    """

    build: Callable[[Inputs], DataFrame]
    delay_ms: int | None
    closes: bool = False
    aligned: bool = False


PER_WINDOW = 8
"""Buckets per window in batch. A right tuple has 17 copies, and 6 % more pairs than necessary are compared."""
PER_WINDOW_STREAMING = 2
"""Buckets per window in a stream, where copies are state. A right tuple has 5 copies, and 25 % more pairs than
necessary are compared."""


def near_join(inputs: Inputs, match: str, output: list[str]) -> DataFrame:
    """Return the matching pairs of a left and a right tuple at most `ws_ms` apart; compares all pairs near in time.

    `match` is the SQL condition of a pair, with prefixes `l_` and `r_`; `output` is the SQL of the output without `ts`.
    """
    size = int(inputs.params["ws_ms"])
    count = PER_WINDOW_STREAMING if inputs.streaming else PER_WINDOW
    width = max(1, -(-size // count))
    reach = -(-size // width)
    left, right = (_add_prefix(inputs.kinds[kind], kind[0]) for kind in ("left", "right"))
    bucket = f"{inputs.clock.since_origin('l_ts')} div {width}"
    left = left.select("*", F.expr(bucket).alias("l_bucket"))
    bucket = f"{inputs.clock.since_origin('r_ts')} div {width}"
    copies = f"sequence({bucket} - {reach}, {bucket} + {reach})"
    right = right.select("*", F.explode(F.expr(copies)).alias("r_bucket"))
    if inputs.streaming:
        # Conditions on timestamps tell Spark when a tuple can leave the state.
        is_near = (
            f"r_time >= l_time - interval {size} milliseconds"
            f" and r_time <= l_time + interval {size} milliseconds"
        )
    else:
        is_near = f"r_ts between l_ts - {size}L and l_ts + {size}L"
        # Each bucket has a hash table, because a sort would not reduce the pairs.
        left = left.repartition(inputs.tasks, "l_bucket")
        right = right.repartition(inputs.tasks, "r_bucket").hint("shuffle_hash")
    joined = left.join(right, F.expr(f"l_bucket = r_bucket and {match} and {is_near}"))
    return joined.selectExpr("greatest(l_ts, r_ts) + 1 as ts", *output, "cast(0 as short) as src")


def _add_prefix(frame: DataFrame, side: str) -> DataFrame:
    return frame.select(*(F.col(name).alias(f"{side}_{name}") for name in frame.columns))


def _copies(inputs: Inputs) -> DataFrame:
    tuples = reduce(DataFrame.unionByName, inputs.kinds.values())
    copies = F.explode(F.expr(f"sequence(1, {inputs.params['copies']})"))
    return tuples.select((F.col("ts") + 1).alias("ts"), "id", "value", "src", copies).drop("col")


_NUM = "(cast(r_price as double) - r_average) * l_average"
_DEN = "(cast(l_price as double) - l_average) * r_average"


def _hedges(inputs: Inputs) -> DataFrame:
    low, high = (f"{float(inputs.params[name])!r}D * {_DEN}" for name in ("lower", "upper"))
    match = (
        "l_id <> r_id and l_average <> 0"
        f" and (({_DEN} > 0 and {low} <= {_NUM} and {_NUM} <= {high})"
        f" or ({_DEN} < 0 and {high} <= {_NUM} and {_NUM} <= {low}))"
    )
    return near_join(inputs, match, ["l_id", "l_price", "r_id", "r_price"])


_MATCH = f"abs(l_x - r_a) <= {BAND} and abs(l_y - r_b) <= {BAND}"
_OUTPUT = ["l_x as x", "l_y as y", "r_a as a", "r_b as b", "r_c as c", "r_d as d"]


def _band_pairs(inputs: Inputs) -> DataFrame:
    return near_join(inputs, _MATCH, _OUTPUT)


def _word_counts(inputs: Inputs) -> DataFrame:
    counts = _windows(inputs, _keys(inputs, "words"), F.count(F.lit(1)))
    return counts.selectExpr("ts", "key as word", "value as count", "src")


def _pair_counts(inputs: Inputs) -> DataFrame:
    pairs = _keys(inputs, _word_pairs(int(inputs.params["distance"])))
    counts = _windows(inputs, pairs, F.count(F.lit(1)))
    return counts.selectExpr("ts", "key as pair", "value as count", "src")


def _longest(inputs: Inputs) -> DataFrame:
    longest = _windows(inputs, _distinct("hashtags"), F.max("chars"))
    return longest.selectExpr("ts", "key as hashtag", "value as chars", "src")


def _keys(inputs: Inputs, keys: str) -> str:
    return keys if counts_bag(inputs.params) else _distinct(keys)


def _distinct(keys: str) -> str:
    return f"array_distinct({keys})"


def _word_pairs(distance: int) -> str:
    """Return the SQL of all pairs of words at most `distance` apart; 0 for all pairs."""
    near = f"slice(words, at + 2, {distance})" if distance else "slice(words, at + 2, size(words))"
    pair = f"cast(first as bigint) * {FIRST}L + second"
    return f"flatten(transform(words, (first, at) -> transform({near}, second -> {pair})))"


def _windows(inputs: Inputs, keys: str, value: Column) -> DataFrame:
    """Return `ts`, `key`, `value` of every key in every window that ends by the end of the input."""
    advance, size = (f"{inputs.params[name]} milliseconds" for name in ("wa_ms", "ws_ms"))
    keyed = inputs.kinds["tweet"].select("time", "chars", F.explode(F.expr(keys)).alias("key"))
    window = F.window("time", size, advance).alias("window")
    values = keyed.groupBy(window, "key").agg(value.alias("value"))
    right = F.expr(inputs.clock.event_time("window.end")).alias("ts")
    values = values.select(right, "key", "value", F.lit(0).cast("short").alias("src"))
    # In a stream the watermark closes only windows up to the end. A table has no watermark.
    return values if inputs.streaming else values.where(F.col("ts") <= inputs.clock.end)


RELATIONS: Mapping[str, Relation] = {
    "forward": Relation(build=_copies, delay_ms=None),
    # The watermark is 1 ms late, because a join drops tuples at the watermark, and ties may continue in the next file.
    "nyse_hedge": Relation(build=_hedges, delay_ms=1, aligned=True),
    "scale_join": Relation(build=_band_pairs, delay_ms=1, aligned=True),
    "wordcount": Relation(build=_word_counts, delay_ms=0, closes=True),
    "paircount": Relation(build=_pair_counts, delay_ms=0, closes=True),
    "longest_tweet_per_hashtag": Relation(build=_longest, delay_ms=0, closes=True),
}
