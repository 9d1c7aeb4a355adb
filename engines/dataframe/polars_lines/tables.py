"""Streams as data frames, markers in total order, and where they cut a stream."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from engines.dataframe.streams import Streams
from workloads.model import ListColumn, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """An input as one data frame a stream: `ts`, `tag` where it has one, and its fields.

    Attributes:
        bulk, markers: index of the stream and its table.
        kinds: number of kinds: a tag is key x kinds + kind.
    """

    bulk: Sequence[tuple[int, pl.DataFrame]]
    markers: Sequence[tuple[int, pl.DataFrame]]
    kinds: int

    def key(self, table: pl.DataFrame) -> pl.Expr:
        """Return the expression for the key of each row."""
        tag = pl.col("tag") // self.kinds if "tag" in table.columns else pl.lit(0)
        return tag.cast(pl.Int32).alias("key")

    def in_order(self, *fields: str) -> pl.DataFrame:
        """Return all markers in total order, as `ts`, `src`, `key` and fields."""
        nothing = {"ts": pl.Int64, "src": pl.Int16, "key": pl.Int32}
        empty = pl.DataFrame(schema=nothing | dict.fromkeys(fields, pl.Int64))
        parts = [
            table.select(
                "ts",
                pl.lit(src, pl.Int16).alias("src"),
                self.key(table),
                *(pl.col(field).cast(pl.Int64) for field in fields),
            )
            for src, table in self.markers
        ]
        return pl.concat([empty, *parts]).sort("ts", "src", maintain_order=True)


def tables(streams: Streams) -> Tables:
    """Return the streams as data frames over the same memory."""
    return Tables(
        bulk=[(src, _table(stream)) for src, stream in streams.bulk],
        markers=[(src, _table(stream)) for src, stream in streams.markers],
        kinds=streams.kinds,
    )


def last(src: int) -> pl.Expr:
    """Return the last event time of stream `src` that comes before a marker."""
    return pl.col("ts") - (pl.col("src") < src).cast(pl.Int64)


def ends(markers: pl.DataFrame, src: int, table: pl.DataFrame) -> pl.Series:
    """Return how many events of a stream come before each marker."""
    return table["ts"].search_sorted(markers.select(last(src))["ts"], side="right").cast(pl.Int64)


def run_sums(values: pl.Series, end: pl.Series) -> pl.Series:
    """Return the sum of the values of each run that ends before `end[i]`."""
    if not len(values):
        return pl.zeros(len(end), pl.Int64, eager=True)
    upto = values.cum_sum().gather((end - 1).clip(0)) * (end > 0).cast(pl.Int64)
    return upto - upto.shift(1, fill_value=0)


def _table(stream: Stream) -> pl.DataFrame:
    columns = {"ts": stream.ts} | ({} if stream.tag is None else {"tag": stream.tag})
    plain = {n: v for n, v in stream.payload.items() if not isinstance(v, ListColumn)}
    return pl.DataFrame(columns | plain).with_columns(pl.col("ts").set_sorted())
