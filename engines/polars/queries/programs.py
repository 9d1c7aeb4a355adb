"""Computes the DGS programs: sorts separators into total order and splits streams of bulk events at them.

All DGS programs here have many bulk events (kind 0: values, views, transactions, increments) and few separators
(kind 1: barriers, updates, rules, resets).
"""

from dataclasses import dataclass

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW

BULK, SEPARATOR = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """An input as one data frame per stream, with the stream's index, which breaks ties in event time.

    Attributes:
        bulk: streams of kind 0.
        separators: streams of kind 1.
        kinds: number of kinds; a tag is key x `kinds` + kind.
    """

    bulk: list[tuple[int, pl.DataFrame]]
    separators: list[tuple[int, pl.DataFrame]]
    kinds: int

    def key(self, table: pl.DataFrame) -> pl.Expr:
        """Return the expression for the key of each row."""
        tag = pl.col("tag") // self.kinds if "tag" in table.columns else pl.lit(0)
        return tag.cast(pl.Int32).alias("key")

    def ordered_separators(self, *fields: str) -> pl.DataFrame:
        """Return all separators in total order, as `ts`, `src`, `key` and fields."""
        columns = {"ts": pl.Int64, "src": pl.Int16, "key": pl.Int32}
        empty = pl.DataFrame(schema=columns | dict.fromkeys(fields, pl.Int64))
        parts = [
            table.select(
                "ts",
                pl.lit(src, pl.Int16).alias("src"),
                self.key(table),
                *(pl.col(field).cast(pl.Int64) for field in fields),
            )
            for src, table in self.separators
        ]
        return pl.concat([empty, *parts]).sort("ts", "src", maintain_order=True)


def read_streams(tables: Tables) -> Streams:
    """Return the streams as data frames; reads files."""
    kinds = [BULK, SEPARATOR]
    streams = [(kind, table) for kind in kinds for table in tables.of_kind(kind)]
    frames = pl.collect_all([table.rows for _, table in streams])
    by_kind: dict[int, list[tuple[int, pl.DataFrame]]] = {kind: [] for kind in kinds}
    for (kind, table), frame in zip(streams, frames, strict=True):
        by_kind[kind].append((table.src, frame))
    return Streams(bulk=by_kind[BULK], separators=by_kind[SEPARATOR], kinds=tables.kinds)


def last_before(src: int) -> pl.Expr:
    """Return the expression for the last event time of stream `src` before a separator."""
    return pl.col("ts") - (pl.col("src") < src).cast(pl.Int64)


def ends(separators: pl.DataFrame, src: int, table: pl.DataFrame) -> pl.Series:
    """Return how many events of a stream come before each separator."""
    return (
        table["ts"]
        .search_sorted(separators.select(last_before(src))["ts"], side="right")
        .cast(pl.Int64)
    )


def run_sums(values: pl.Series, end: pl.Series) -> pl.Series:
    """Return the sums of consecutive runs of values; run i ends before index `end[i]`."""
    if not len(values):
        return pl.zeros(len(end), pl.Int64, eager=True)
    sum_so_far = values.cum_sum().gather((end - 1).clip(0)) * (end > 0).cast(pl.Int64)
    return sum_so_far - sum_so_far.shift(1, fill_value=0)


def event_window(tables: Tables) -> list[pl.DataFrame]:
    """Return one sum per barrier: split each stream at the barriers and take differences of its running sum."""
    streams = read_streams(tables)
    barriers = streams.ordered_separators()
    sums = pl.zeros(len(barriers), pl.Int64, eager=True)
    for src, table in streams.bulk:
        sums = sums + run_sums(table["value"], ends(barriers, src, table))
    return [barriers.select("ts", sums.alias("sum"), "src")]


def fraud_detection(tables: Tables) -> list[pl.DataFrame]:
    """Sum between rules, derive a model from each sum, and filter each stream by the current model."""
    streams = read_streams(tables)
    rules = streams.ordered_separators("value")
    cuts = {src: ends(rules, src, table) for src, table in streams.bulk}
    sums = pl.zeros(len(rules), pl.Int64, eager=True)
    for src, table in streams.bulk:
        sums = sums + run_sums(table["value"], cuts[src])
    models = pl.concat([pl.Series([0]), (sums + rules["value"]) % MODULUS])
    aggregates = rules.select("ts", _kind(AGGREGATE), sums.alias("value"), "src")
    return [aggregates, *(_frauds(src, table, cuts[src], models) for src, table in streams.bulk)]


def _frauds(src: int, table: pl.DataFrame, cuts: pl.Series, models: pl.Series) -> pl.DataFrame:
    borders = pl.concat([pl.Series([0]), cuts, pl.Series([len(table)])])
    runs = pl.DataFrame({"model": models, "rows": borders.diff()[1:]}).filter(pl.col("rows") > 0)
    model = runs.select(pl.col("model").repeat_by("rows").explode())["model"]
    return table.filter(pl.col("value") % MODULUS == model).select(
        "ts", _kind(FRAUD), "value", pl.lit(src, pl.Int16).alias("src")
    )


def _kind(kind: int) -> pl.Expr:
    return pl.lit(kind, pl.Int8).alias("kind")


def keyed_counter(tables: Tables) -> list[pl.DataFrame]:
    """Return one count per reset: join each increment with the next reset of its key (as-of), and count."""
    streams = read_streams(tables)
    resets = streams.ordered_separators().with_row_index("reset")
    parts = [_counts(streams, src, table, resets) for src, table in streams.bulk]
    empty = pl.DataFrame(schema={"reset": pl.UInt32, "count": pl.Int64})
    counts = pl.concat([empty, *parts]).group_by("reset").sum()
    joined = resets.join(counts, on="reset", how="left", maintain_order="left")
    return [joined.select("ts", "key", pl.col("count").fill_null(0), "src")]


def _counts(streams: Streams, src: int, table: pl.DataFrame, resets: pl.DataFrame) -> pl.DataFrame:
    until = resets.select(last_before(src).alias("until").set_sorted(), "key", "reset")
    return (
        table.select("ts", streams.key(table))
        .join_asof(
            until,
            left_on="ts",
            right_on="until",
            by="key",
            strategy="forward",
            check_sortedness=False,
        )
        .drop_nulls("reset")
        .group_by("reset")
        .agg(pl.len().cast(pl.Int64).alias("count"))
    )


def page_view_join(tables: Tables) -> list[pl.DataFrame]:
    """Join each view stream with the updates of its page (as-of), and each update with the update that it replaces."""
    streams = read_streams(tables)
    updates = streams.ordered_separators("meta").with_columns(pl.col("meta").cast(pl.Int32))
    replaced_metadata = updates.select(
        "ts",
        pl.lit(UPDATE, pl.Int8).alias("kind"),
        pl.col("key").alias("page"),
        pl.lit(NO_USER, pl.Int32).alias("user"),
        pl.col("meta").shift(1).over("key").fill_null(0),
        "src",
    )
    return [
        replaced_metadata,
        *(_views(streams, src, table, updates) for src, table in streams.bulk),
    ]


def _views(streams: Streams, src: int, table: pl.DataFrame, updates: pl.DataFrame) -> pl.DataFrame:
    # An update applies from the first event time of the stream after it.
    since = updates.select((last_before(src) + 1).alias("since").set_sorted(), "key", "meta")
    views = table.select("ts", streams.key(table), "user")
    return views.join_asof(
        since, left_on="ts", right_on="since", by="key", check_sortedness=False
    ).select(
        "ts",
        pl.lit(VIEW, pl.Int8).alias("kind"),
        pl.col("key").alias("page"),
        "user",
        pl.col("meta").fill_null(0),
        pl.lit(src, pl.Int16).alias("src"),
    )
