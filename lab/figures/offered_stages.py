"""Plans stages that offer a share of the rates that an earlier stage measured."""

from collections.abc import Callable

from streamlab.json_value import JsonObject, JsonValue
from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Plan, Runs, Tree
from streamlab.lab.figures.measurements import troubles, workload_key
from streamlab.lab.figures.options import Options
from streamlab.results.query import CellSummary, by_cell
from streamlab.results.schema import VERIFIED

LATENCY_SHARE = 0.7
"""Share of a cell's highest rate at which latency is measured: queues stay short, but the load is realistic."""
LATENCY_LOAD = "at70"
SEND_LAG_MS = 10.0
"""Allowed lag of the generator (p99) where instances may take every core."""
LAG_NOTE = (
    f"Where instances may take every core, the generator may lag by {SEND_LAG_MS:g} ms (p99): "
    "latency, from due times, contains it."
)
_LONGEST_S, _WARM_UP_SHARE, _INPUT_SHARE = 60.0, 0.25, 0.9
"""Longest load in seconds, warm-up as a share of the load, and largest share of the input that a load uses."""


def latency_plan(
    options: Options, first: Tree, runs: Runs, select: Callable[[CellSummary], bool] | None = None
) -> Plan:
    """Return the stage that offers every cell of the previous stage LATENCY_SHARE of its rate.

    `first` is the matrix of the previous stage; its run is the last of `runs`. `select` returns
    whether to include a cell; None includes all.

    Raises:
        FigureError: no cell has a rate.
    """
    loads: list[JsonValue] = []
    ids: list[str] = []
    for number, cell in enumerate(by_cell(runs[-1].rows), 1):
        rate = cell.spread("throughput_eps")
        if cell.status not in VERIFIED or rate is None or not (select is None or select(cell)):
            continue
        label = f"{LATENCY_LOAD}-{number}"
        rate_eps = LATENCY_SHARE * rate.median
        events = min(row.events or 0 for row in cell.rows)
        length_s = min(_LONGEST_S, _INPUT_SHARE * events / rate_eps)
        lag: JsonObject = {"send_lag_ms": SEND_LAG_MS} if cell.workers >= options.cores else {}
        loads.append(
            {
                "label": label,
                "arrival": "constant",
                "rate_eps": float(f"{rate_eps:.6g}"),
                "warm_up_s": float(f"{length_s * _WARM_UP_SHARE:.4g}"),
                "window_s": float(f"{length_s * (1 - _WARM_UP_SHARE):.4g}"),
                "engines": [f"{cell.engine}/{cell.variant}"],
                "workloads": [workload_key(cell)],
                **lag,
            }
        )
        ids.append(f"{cell.cell}/{label}")
    if not loads:
        reason = "; ".join(troubles(runs)) or "the run has no trials"
        raise FigureError(
            f"{runs[-1].path}: no cell has a rate, so no load can be derived: {reason}"
        )
    return Plan(tree={**first, "load": loads}, only=tuple(ids))
