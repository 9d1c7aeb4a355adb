"""Merges both streams by time and repeats every tuple."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.suite.forward.generate import FIELDS


def answer(tables: Tables) -> pl.LazyFrame:
    """Return (ts, id, value), each tuple `copies` times."""
    fields = FIELDS.names or ()
    both = pl.concat([tables.events(kind, *fields) for kind in range(tables.kinds)])
    copies = pl.LazyFrame({"copy": range(tables.number("copies"))})
    return (
        both.sort("ts", maintain_order=True)
        .with_columns(pl.col("ts") + 1)
        .join(copies, how="cross", maintain_order="left")
        .drop("copy")
    )
