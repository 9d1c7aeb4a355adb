"""Latencies of cells under a load: the 10th, 50th and 90th percentile, as the paper has them."""

from collections.abc import Mapping
from typing import Any

from streamlab.lab.figures.flumina.shared import DGS
from streamlab.lab.figures.measurements import Value, cells, column, per_row
from streamlab.lab.measure.hdr import LATENCY, read_log
from streamlab.lab.measure.latency import percentile
from streamlab.reports.figures.paper import Point
from streamlab.results.query import Spread
from streamlab.results.seal import read_sealed
from streamlab.results.store import Row, Run

_PERMILLE = {"p10": 100, "p50": 500, "p90": 900}
MEDIAN = "p50"

Percentiles = Mapping[str, Spread]
"""Of a cell, in ns, by name; those that cannot be told are left out."""


def needed() -> int:
    """Return of how many outputs a 10th or 90th percentile can be told."""
    return 10_000 // _PERMILLE["p10"]


def tenth_ns(run: Run) -> Value:
    """Return what takes the 10th percentile of the latency from a cell's histograms on disk."""

    def of(row: Row) -> float | None:
        if not row.get("histograms"):
            return None
        content = read_sealed(run.path, run.path / row["histograms"])
        found = read_log(content).get(LATENCY)
        tenth = None if found is None else percentile(found, _PERMILLE["p10"])
        return None if tenth is None else float(tenth)

    return lambda cell: per_row(cell, of)


def percentiles(run: Run, key: str, workers: int, ending: str) -> Percentiles:
    """Return the latency of the cell of a workload whose id ends so."""
    values = {
        "p10": tenth_ns(run),
        "p50": column("latency_p50_ns"),
        "p90": column("latency_p90_ns"),
    }
    return {
        name: found
        for cell in cells(run, key, DGS)
        if cell.workers == workers and cell.cell.endswith(f"/{ending}")
        for name, value in values.items()
        if (found := value(cell)) is not None
    }


def as_json(found: Percentiles) -> dict[str, Any]:
    """Return percentiles as JSON values."""
    return {
        f"{name}_ns": {"n": s.n, "median": s.median, "min": s.low, "max": s.high}
        for name, s in found.items()
    }


def band(x: float, found: Percentiles, is_open: bool) -> list[Point]:
    """Return a point from the 10th to the 90th percentile, in ms; nothing without a median."""
    if MEDIAN not in found:
        return []
    low, mid, high = (found.get(name, found[MEDIAN]).median * 1e-6 for name in _PERMILLE)
    return [Point(x, mid, low, high, is_open)]
