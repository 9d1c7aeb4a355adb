"""Reads bulk events as data frames, and markers as arrays in the driver."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.layout import Layout, ddl


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """All markers in total order (event time, stream, position).

    Attributes:
        ts: int64[m], event times.
        src: int64[m], stream indices.
        key: int64[m], keys.
        value: int64[m], the requested payload, or 0.
    """

    ts: npt.NDArray[np.int64]
    src: npt.NDArray[np.int64]
    key: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ts)


def scan(session: SparkSession, plan: Layout, src: int, row: str = "row_index") -> DataFrame:
    """Return a stream's file up to the cut, with row numbers in column `row`."""
    stream = plan.streams[src]
    frame = session.read.schema(ddl(stream.columns)).parquet(str(stream.path))
    frame = frame.select("*", F.col("_metadata.row_index").alias(row))
    return frame if plan.until_ts is None else frame.where(F.col("ts") < plan.until_ts)


def read(session: SparkSession, plan: Layout, src: int, *fields: str) -> DataFrame:
    """Return a stream as columns `ts`, `key` and some fields."""
    stream = plan.streams[src]
    frame = scan(session, plan, src)
    if any(name == "tag" for name, _ in stream.columns):
        key = F.expr(f"cast(tag div {plan.n_kinds} as int)").alias("key")
    else:
        key = F.lit(0).alias("key")
    return frame.select("ts", key, *fields)


def collect(session: SparkSession, plan: Layout, field: str | None = None) -> Markers:
    """Load the markers of a dataset without mixed streams into the driver."""
    parts: list[list[npt.NDArray[Any]]] = []
    for src in plan.markers:
        names = [field] if field else []
        table = read(session, plan, src, "row_index", *names).toArrow()
        # A scan in several tasks loses the file's order, which markers need.
        order = np.argsort(table["row_index"].to_numpy())
        ts, key = table["ts"].to_numpy()[order], table["key"].to_numpy()[order]
        value = table[field].to_numpy()[order] if field else np.zeros(len(ts))
        parts.append([ts, np.full(len(ts), src), key, value])
    if not parts:
        parts.append([np.zeros(0)] * 4)
    ts, sources, key, value = (
        np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)
    )
    order = np.lexsort((sources, ts))
    return Markers(ts=ts[order], src=sources[order], key=key[order], value=value[order])
