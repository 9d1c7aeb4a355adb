"""Computes event windows: splits each stream at the barriers and takes differences of its running sum."""

import polars as pl

from streamlab.engines.polars.markers import cut, ends, run_sums
from streamlab.engines.polars.tables import Tables


def answer(tables: Tables) -> list[pl.DataFrame]:
    """Return one sum per barrier."""
    streams = cut(tables)
    barriers = streams.in_order()
    sums = pl.zeros(len(barriers), pl.Int64, eager=True)
    for src, table in streams.bulk:
        sums = sums + run_sums(table["value"], ends(barriers, src, table))
    return [barriers.select("ts", sums.alias("sum"), "src")]
