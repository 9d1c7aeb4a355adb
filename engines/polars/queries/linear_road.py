"""Computes Linear Road's operators on position reports."""

import polars as pl

from streamlab.engines.polars.tables import Tables
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT


def linear_road_pos_rep(tables: Tables) -> pl.LazyFrame:
    """Return all position reports."""
    return tables.events(0, *(FIELDS.names or ())).filter(pl.col("type") == REPORT)


_BYTE = 256


def linear_road_new_seg(tables: Tables) -> pl.LazyFrame:
    """Return the reports of vehicles that enter a segment."""
    reports = tables.events(0, *(FIELDS.names or ())).filter(pl.col("type") == REPORT)
    xway, direction, segment = (pl.col(name).cast(pl.Int64) for name in ("xway", "dir", "seg"))
    place = (xway * _BYTE + direction) * _BYTE + segment
    moved = place.ne_missing(place.shift().over("vid"))
    return reports.filter(moved)
