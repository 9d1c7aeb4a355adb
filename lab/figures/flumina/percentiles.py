"""Reads the 10th, 50th and 90th percentile of the latency of cells under a load, as in the paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import plain, spread_numbers
from streamlab.lab.figures.flumina.paper_setup import DGS
from streamlab.lab.figures.measurements import Value, cells, column, per_row
from streamlab.lab.measure.hdr import LATENCY, read_log
from streamlab.lab.measure.latency import percentile
from streamlab.reports.figures.paper import Line, Panel, Point
from streamlab.results.query import Spread
from streamlab.results.schema import TrialRow
from streamlab.results.seal import read_sealed
from streamlab.results.store import Run

_PERMILLE = {"p10": 100, "p50": 500, "p90": 900}
MEDIAN = "p50"

Percentiles = Mapping[str, Spread]
"""Percentiles of a cell in ns by name; percentiles with too few outputs are missing."""


def min_outputs_for_percentiles() -> int:
    """Return the minimum number of outputs for a 10th or 90th percentile."""
    return 10 * 1000 // _PERMILLE["p10"]  # ten outputs below the 10th percentile


def tenth_ns(run: Run) -> Value:
    """Return a function that reads a cell's 10th percentile of latency from its histograms on disk."""

    def tenth_percentile(row: TrialRow) -> float | None:
        if not row.histograms:
            return None
        content = read_sealed(run.path, run.path / row.histograms)
        histogram = read_log(content).get(LATENCY)
        tenth = None if histogram is None else percentile(histogram, _PERMILLE["p10"])
        return None if tenth is None else float(tenth)

    return lambda cell: per_row(cell, tenth_percentile)


def percentiles(run: Run, key: str, workers: int, suffix: str) -> Percentiles:
    """Return the latency of a workload's cell with this number of workers, whose id ends with `/` and `suffix`."""
    values = {
        "p10": tenth_ns(run),
        "p50": column("latency_p50_ns"),
        "p90": column("latency_p90_ns"),
    }
    return {
        name: spread
        for cell in cells(run, key, DGS)
        if cell.workers == workers and cell.cell.endswith(f"/{suffix}")
        for name, value in values.items()
        if (spread := value(cell)) is not None
    }


def named_percentiles(cell: Percentiles) -> dict[str, JsonValue]:
    """Return percentiles as JSON values."""
    return spread_numbers({f"{name}_ns": spread for name, spread in cell.items()})


def band_line(name: str, cells: Iterable[tuple[float, Percentiles, bool]], colour: int = 0) -> Line:
    """Return medians in ms as a line, in a band from the 10th to the 90th percentile."""
    points = []
    for x, cell, is_open in cells:
        if MEDIAN in cell:
            low, mid, high = (cell.get(p, cell[MEDIAN]).median * 1e-6 for p in _PERMILLE)
            points.append(Point(x, mid, low, high, is_open))
    return Line(name=name, points=points, colour=colour, band=True)


def latency_panel(title: str, x_label: str, lines: Sequence[Line], **fields: Any) -> Panel:
    """Return a panel of band lines, on a logarithmic axis."""
    return Panel(
        title=title,
        y_label="latency, ms",
        x_label=x_label,
        lines=lines,
        log_y=True,
        write=plain,
        **fields,
    )
