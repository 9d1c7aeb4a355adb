"""Computes the DGS programs: splits streams of bulk events at the separators."""

import polars as pl

from streamlab.engines.polars.streams import Streams, ends, last, read_streams, run_sums
from streamlab.engines.polars.tables import Tables
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW


def event_window(tables: Tables) -> list[pl.DataFrame]:
    """Return one sum per barrier.

    Computes event windows: splits each stream at the barriers and takes differences of its running sum.
    """
    streams = read_streams(tables)
    barriers = streams.ordered_separators()
    sums = pl.zeros(len(barriers), pl.Int64, eager=True)
    for src, table in streams.bulk:
        sums = sums + run_sums(table["value"], ends(barriers, src, table))
    return [barriers.select("ts", sums.alias("sum"), "src")]


def fraud_detection(tables: Tables) -> list[pl.DataFrame]:
    """Return the aggregates of the rules, and each stream's fraudulent transactions.

    Detects fraud: sums between rules, derives a model from each sum, and filters by the current model.
    """
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
    """Return one count per reset.

    Computes keyed counters: joins each increment with the next reset of its key (as-of), and counts.
    """
    streams = read_streams(tables)
    resets = streams.ordered_separators().with_row_index("reset")
    parts = [_counts(streams, src, table, resets) for src, table in streams.bulk]
    empty = pl.DataFrame(schema={"reset": pl.UInt32, "count": pl.Int64})
    counts = pl.concat([empty, *parts]).group_by("reset").sum()
    joined = resets.join(counts, on="reset", how="left", maintain_order="left")
    return [joined.select("ts", "key", pl.col("count").fill_null(0), "src")]


def _counts(streams: Streams, src: int, table: pl.DataFrame, resets: pl.DataFrame) -> pl.DataFrame:
    until = resets.select(last(src).alias("until").set_sorted(), "key", "reset")
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
    """Return updates with the metadata that they replace, and each stream's views with their metadata.

    Joins page views: an as-of join of each view stream with the updates of its page.
    """
    streams = read_streams(tables)
    updates = streams.ordered_separators("meta").with_columns(pl.col("meta").cast(pl.Int32))
    replaced = updates.select(
        "ts",
        pl.lit(UPDATE, pl.Int8).alias("kind"),
        pl.col("key").alias("page"),
        pl.lit(NO_USER, pl.Int32).alias("user"),
        pl.col("meta").shift(1).over("key").fill_null(0),
        "src",
    )
    return [replaced, *(_views(streams, src, table, updates) for src, table in streams.bulk)]


def _views(streams: Streams, src: int, table: pl.DataFrame, updates: pl.DataFrame) -> pl.DataFrame:
    # An update applies from the first event time of the stream after it.
    since = updates.select((last(src) + 1).alias("since").set_sorted(), "key", "meta")
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
