"""Event windows: where the barriers cut each stream, and differences of its running sum."""

import polars as pl

from engines.dataframe.polars_lines.tables import Tables, ends, run_sums


def line(tables: Tables) -> list[pl.DataFrame]:
    """Return one sum per barrier."""
    barriers = tables.in_order()
    sums = pl.zeros(len(barriers), pl.Int64, eager=True)
    for src, table in tables.bulk:
        sums = sums + run_sums(table["value"], ends(barriers, src, table))
    return [barriers.select("ts", sums.alias("sum"), "src")]
