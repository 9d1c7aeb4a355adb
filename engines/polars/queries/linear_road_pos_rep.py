"""Selects the position reports."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT


def answer(tables: Tables) -> pl.LazyFrame:
    """Return all position reports."""
    return tables.events(0, *(FIELDS.names or ())).filter(pl.col("type") == REPORT)
