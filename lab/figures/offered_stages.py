"""Stages that offer a share of the rates that a stage before them found."""

from collections.abc import Callable

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Plan, Runs, Tree
from streamlab.lab.figures.measurements import troubles
from streamlab.lab.figures.options import Options
from streamlab.results.query import CellSummary, by_cell
from streamlab.results.schema import VERIFIED

LATENCY_SHARE = 0.7
"""Latency is measured at this share of a cell's own highest rate: queues are short, work is not."""
LATENCY_LOAD = "at70"
SEND_LAG_MS = 10.0
LAG_NOTE = (
    f"Where instances may take every core, the generator may lag by {SEND_LAG_MS:g} ms (p99): "
    "latency, from due times, contains it."
)
_LONGEST_S, _WARM_UP_SHARE, _INPUT_SHARE = 60.0, 0.25, 0.9


def latency_plan(
    options: Options, first: Tree, runs: Runs, wanted: Callable[[CellSummary], bool] | None = None
) -> Plan:
    """Return the stage that offers every cell of the stage before LATENCY_SHARE of its rate.

    Args:
        options: of the figure.
        first: the tree of the stage before; the same cells get a load each.
        runs: the run of that stage.
        wanted: which of its cells; None: all.

    Raises:
        FigureError: no cell of it has a rate.
    """
    loads, ids = [], []
    for number, cell in enumerate(by_cell(runs[-1].rows), 1):
        rate = cell.spread("throughput_eps")
        if cell.status not in VERIFIED or rate is None or not (wanted is None or wanted(cell)):
            continue
        label = f"{LATENCY_LOAD}-{number}"
        rate_eps = LATENCY_SHARE * rate.median
        events = min(row["events"] for row in cell.rows)
        length_s = min(_LONGEST_S, _INPUT_SHARE * events / rate_eps)
        loads.append(
            {
                "label": label,
                "arrival": "constant",
                "rate_eps": float(f"{rate_eps:.6g}"),
                "warm_up_s": float(f"{length_s * _WARM_UP_SHARE:.4g}"),
                "window_s": float(f"{length_s * (1 - _WARM_UP_SHARE):.4g}"),
                "engines": [f"{cell.engine}/{cell.variant}"],
                "workloads": [f"{cell.workload}@{cell.label}" if cell.label else cell.workload],
            }
            | ({"send_lag_ms": SEND_LAG_MS} if cell.workers >= options.cores else {})
        )
        ids.append(f"{cell.cell}/{label}")
    if not loads:
        why = "; ".join(troubles(runs)) or "it is empty"
        raise FigureError(f"{runs[-1].path}: no cell has a rate to offer a share of: {why}")
    return Plan(tree={**first, "load": loads}, only=tuple(ids))
