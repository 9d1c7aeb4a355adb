"""Runs of any figure in which all that its claims are about happened, or one thing did not."""

from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.results.store import Run
from tests.lab.figures.conftest import META, row, write_timeline
from tests.results.records import run_meta, trial_row

COUNTERS = {
    "processing_mean_ns": 1e6,
    "processing_p50_ns": 1e6,
    "synchronizations": 9,
    "1_sl-0_cost_ns": 1e4,
    "1_ps-0_cost_ns": 1e4,
    "record_bytes": 1e6,
    "record_bytes_moved": 10,
    "state_bytes_moved": 10,
    "graph_cpu_s_per_mtuple": 0.2,
    "switches_per_mtuple": 5,
    "threads": 4,
}
PROPERTIES = '{"PIP1": {"holds": true}, "PIP2": {"holds": true}, "PIP3": {"holds": true}}'


class Happening:
    """What happened in a run: by default everything.

    Args:
        outputs: of every trial.
        sustained: whether loads were.
        reconfigured: whether the number of instances changed.
        stepped: whether the offered rate did.
        synchronizations: of several workers.
    """

    def __init__(
        self, outputs=1000, sustained=True, reconfigured=True, stepped=True, synchronizations=9
    ):
        self.outputs, self.sustained, self.reconfigured = outputs, sustained, reconfigured
        self.stepped, self.synchronizations = stepped, synchronizations


_PLANNED = {}
"""Cells by figure, options and stage: planned once, whatever happened."""


def runs_of(figure, options, happening, folder, repetitions=3):
    """The runs of all stages of a figure, in memory: rows of the cells that it plans."""
    runs = []
    for stage in figure.stages:
        key = (figure.id, options, stage.name)
        if key not in _PLANNED:
            plan = stage.plan(options, runs)
            matrix = parse_matrix(figure.text(stage, plan, options), figure.id)
            _PLANNED[key] = expand(matrix, plan.only)
        cells = _PLANNED[key]
        path = folder / f"{figure.slug}-{stage.name}"
        rows = [_row(cell, happening, path) for cell in cells]
        repeated = [
            trial_row(each | {"repetition": again})
            for again in range(1, repetitions + 1)
            for each in rows
        ]
        runs.append(Run(path=path, meta=run_meta(META | {"planned": cells}), rows=tuple(repeated)))
    return runs


def _row(cell, happening, path):
    parts = cell.id.split("/")
    key, label = parts[0], cell.load_label
    made = row(
        key,
        f"{cell.engine}/{cell.variant}",
        cell.workers,
        rate=1e6,
        load=label,
        batch=cell.batch,
        counters=COUNTERS | {"synchronizations": happening.synchronizations},
        comparisons=round(4e9 * cell.workers),
        outputs=happening.outputs,
        status="ok" if happening.sustained or label is None else "unsustained",
        latency_p50_ns=1_000_000,
        latency_p90_ns=2_000_000,
        power_w=50.0,
        cpu_s=0.1,
        properties=PROPERTIES,
    )
    made |= {"cell": cell.id, "throughput_eps": 1e6, "events": 10_000_000}
    if cell.load is not None and (cell.load.arrival in ("step", "replay")):
        made |= _timeline(cell, happening, path)
    return made


def _timeline(cell, happening, path):
    """A trial over time: its rate steps half-way, or has a peak, and instances follow."""
    params = cell.load.params
    length_s = cell.load.warm_up_s + cell.load.window_s
    at_s = params.get("at_s", length_s / 2)
    factor = params.get("factor", 16.0) if happening.stepped else 1.0
    up = 1 if factor >= 1 else -1
    after = cell.workers + up if happening.reconfigured else cell.workers
    changes = [(at_s + 0.3, 0.5, cell.workers, after)]
    if cell.load.arrival == "replay":
        changes = [(at / 2, 0.5, 1, after) for at in range(round(length_s * 2))]
    return write_timeline(
        path,
        cell.id.replace("/", "_"),
        seconds=length_s,
        rate=lambda t: 1000 * (1 if t < at_s else factor),
        instances=lambda t: cell.workers if t < at_s else after,
        latency_ms=lambda t: 1.0,
        changes=changes,
    )
