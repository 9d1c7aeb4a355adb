"""Detects fraud: sums between rules, derives a model from each sum, and filters by the current model."""

import polars as pl

from streamlab.engines.polars.markers import cut, ends, run_sums
from streamlab.engines.polars.tables import Tables
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS


def answer(tables: Tables) -> list[pl.DataFrame]:
    """Return the aggregates of the rules, and each stream's fraudulent transactions."""
    streams = cut(tables)
    rules = streams.in_order("value")
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
