"""Sorts separators into total order and splits streams of bulk events at them.

All DGS programs here have many bulk events (kind 0: values, views, transactions, increments) and few separators
(kind 1: barriers, updates, rules, resets).
"""

from dataclasses import dataclass

import polars as pl

from streamlab.engines.polars.tables import Tables

BULK, SEPARATOR = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """An input as one data frame per stream, with the stream's index, which breaks ties in event time.

    A tag is key x `kinds` + kind.
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
    every = [(kind, table) for kind in kinds for table in tables.of(kind)]
    frames = pl.collect_all([table.rows for _, table in every])
    by_kind: dict[int, list[tuple[int, pl.DataFrame]]] = {kind: [] for kind in kinds}
    for (kind, table), frame in zip(every, frames, strict=True):
        by_kind[kind].append((table.src, frame))
    return Streams(bulk=by_kind[BULK], separators=by_kind[SEPARATOR], kinds=tables.kinds)


def last(src: int) -> pl.Expr:
    """Return the expression for the last event time of stream `src` before a separator."""
    return pl.col("ts") - (pl.col("src") < src).cast(pl.Int64)


def ends(separators: pl.DataFrame, src: int, table: pl.DataFrame) -> pl.Series:
    """Return how many events of a stream come before each separator."""
    return (
        table["ts"].search_sorted(separators.select(last(src))["ts"], side="right").cast(pl.Int64)
    )


def run_sums(values: pl.Series, end: pl.Series) -> pl.Series:
    """Return the sum of the values of each run that ends before `end[i]`."""
    if not len(values):
        return pl.zeros(len(end), pl.Int64, eager=True)
    upto = values.cum_sum().gather((end - 1).clip(0)) * (end > 0).cast(pl.Int64)
    return upto - upto.shift(1, fill_value=0)
