"""Implements `streamlab.run`: benchmarks from Python, for notebooks and scripts.

`streamlab.run` works like the command `lab run`: each trial is a fresh process, and each answer is verified.
The run is stored in a directory that `lab report` and `lab compare` accept.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from streamlab.lab.cli.progress import Terminal, Verbosity
from streamlab.lab.errors import LabError
from streamlab.lab.matrix.run_arguments import RunArguments
from streamlab.lab.matrix.toml_table import read_text
from streamlab.lab.runner.execution import execute
from streamlab.lab.runner.run_plan import plan_run
from streamlab.lab.runner.stored_answer import read_answer
from streamlab.reports.figures.throughput import shared_scale, throughput_panel
from streamlab.reports.numbers import number_of
from streamlab.reports.page import render_tables, write_report
from streamlab.reports.palette import engine_colours
from streamlab.reports.summary import Cell, summarise
from streamlab.results.compare import METRICS, Ratio
from streamlab.results.compare import compare as compare_runs
from streamlab.results.query import Spread
from streamlab.results.store import Run, read_run
from streamlab.results.table import as_table
from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.datasets.spark_session import DEFAULT_MASTER
from streamlab.workloads.default_folders import runs, set_cache_variables
from streamlab.workloads.model import Workload
from streamlab.workloads.model.workload import OpenDeclaration, Outputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SEED = 1
"""Fixed, so that `MeasuredRun.compare` returns the same intervals on every call."""
_MEDIANS = ("latency_p99_ns", "cpu_s_per_million", "peak_rss_bytes")
_RATIO_COLUMNS = ("cell", "metric", "old", "new", "ratio", "low", "high", "p", "verdict")
_ROW_EM, _FRAME_EM = 4, 24
"""Height of a run's frame in a notebook, in em: `_FRAME_EM`, plus `_ROW_EM` per cell. Longer tables scroll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A finished run; `path` is its directory, for `lab report` and `lab compare`."""

    path: Path

    def frame(self) -> pd.DataFrame:
        """Return one row per trial, in the order of execution, with the columns of `results/schema.py`.

        Integers and booleans use pandas' nullable types. Only verified trials have rates.
        """
        types = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        frame: pd.DataFrame = as_table(self._read().rows).to_pandas(types_mapper=types.get)
        return frame

    def summary(self) -> pd.DataFrame:
        """Return one row per cell: medians over the fresh processes, and the range of the rates.

        The columns are `workload`, `label` (of its input), `engine` (as shown in reports), `workers`, `unit` (of
        hand-over), `status`, `n` (processes), `throughput_eps` (events/s) with `lowest_eps` and `highest_eps`,
        `latency_p99_ns`, `cpu_s_per_million` (events) and `peak_rss_bytes`. Only verified cells have numbers.
        """
        return pd.DataFrame([_summary_row(cell) for cell in summarise(self._read().rows)])

    def compare(
        self, other: "MeasuredRun | Path | str", metrics: Sequence[str] = ("throughput", "cpu")
    ) -> pd.DataFrame:
        """Return the ratios of this run's cells to an earlier run's cells, as `lab compare OTHER THIS` does.

        The columns are `cell`, `metric`, `old`, `new`, `ratio` (new / old, of medians), `low` and `high` (95 %),
        `p` and `verdict`.

        Raises:
            LabError: a metric is unknown.
            IncomparableError: the runs may not be compared; the message names what differs.
        """
        if unknown := [name for name in metrics if name not in METRICS]:
            raise LabError(f"metrics has {unknown[0]!r}; use some of {', '.join(METRICS)}")
        old = read_run(other.path if isinstance(other, MeasuredRun) else Path(other))
        chosen_metrics = [METRICS[name] for name in metrics]
        comparison = compare_runs(
            old, self._read(), np.random.default_rng(_SEED), metrics=chosen_metrics
        )
        return pd.DataFrame(
            [_ratio_row(ratio) for ratio in comparison.ratios], columns=list(_RATIO_COLUMNS)
        )

    def answers(self, cell: str | None = None, output: str | None = None) -> pd.DataFrame:
        """Return the answer that the verified cells gave, with texts and times decoded.

        Args:
            cell: pattern of cell ids; needed if the run has several answers.
            output: name of one output of `streamlab.outputs`; None: all outputs.

        Raises:
            LabError: the run has no verified answer, or several.
        """
        return pd.DataFrame(read_answer(self.path, cell, None, output).columns)

    def figure(self, workload: str | None = None) -> "Figure":
        """Return a matplotlib figure of a workload's rates by number of workers, as in the report.

        Args:
            workload: name of the workload; None if the run has only one.

        Raises:
            LabError: the run has no verified rate of the workload, or `workload` is None and the run has several.
        """
        cells = summarise(self._read().rows)
        rated_cells = [cell for cell in cells if cell.throughput_eps is not None]
        names = list(dict.fromkeys(cell.workload for cell in rated_cells))
        name = names[0] if workload is None and len(names) == 1 else workload
        if name not in names:
            raise LabError(
                f"{self.path.name}: workload is {workload!r}; give one with verified rates: "
                f"{', '.join(names) or 'none found'}"
            )
        workload_cells = [cell for cell in rated_cells if cell.workload == name]
        scale = shared_scale(workload_cells)
        assert scale is not None, "a rate is above 0"
        colours = engine_colours(cell.engine for cell in cells)
        figure = throughput_panel(name, workload_cells, colours, scale).axes.figure
        return cast("Figure", figure)

    def report(self, out: Path | str | None = None) -> Path:
        """Write the report page, by default into the run's directory, and return the page's path."""
        return write_report(self.path, None if out is None else Path(out))

    def _read(self) -> Run:
        return read_run(self.path)

    def __repr__(self) -> str:
        rows = self._read().rows
        counts = {row.status: 0 for row in rows}
        for row in rows:
            counts[row.status] += 1
        counts_text = ", ".join(f"{count} {status}" for status, count in counts.items())
        return f"<run {self.path}: {number_of(len(rows), 'trial')}, {counts_text}>"

    def _repr_html_(self) -> str:
        """Return the tables of the page in a sandboxed frame, apart from the notebook's styles and scripts."""
        run = self._read()
        height = _FRAME_EM + _ROW_EM * len({row.cell for row in run.rows})
        page = html.escape(render_tables(run), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="Results of {self.path.name}" '
            f'style="width: 100%; height: {height}em; border: 0"></iframe>'
        )


def _summary_row(cell: Cell) -> dict[str, object]:
    rate = cell.throughput_eps
    return {
        "workload": cell.workload,
        "label": cell.label,
        "engine": cell.engine_label,
        "workers": cell.workers,
        "unit": None if cell.conditions is None else str(cell.conditions.unit),
        "status": cell.status,
        "n": sum(cell.statuses.values()),
        "throughput_eps": None if rate is None else rate.median,
        "lowest_eps": None if rate is None else rate.low,
        "highest_eps": None if rate is None else rate.high,
        **{name: _median(getattr(cell, name)) for name in _MEDIANS},
    }


def _median(spread: Spread | None) -> float | None:
    return None if spread is None else spread.median


def _ratio_row(ratio: Ratio) -> dict[str, object]:
    names = dict.fromkeys(_RATIO_COLUMNS[:-1])
    return {**{name: getattr(ratio, name) for name in names}, "verdict": ratio.word}


@check_arguments(LabError)
def run(
    matrix: Path | str | None = None,
    *,
    workloads: Sequence[str | Workload] = (),
    engines: Sequence[str] = (),
    workers: Sequence[int] = (),
    batch: Sequence[int] = (),
    repetitions: int | None = None,
    timeout_s: float | None = None,
    events: int | None = None,
    params: Mapping[str, object] | None = None,
    seed: int | None = None,
    dataset: str | None = None,
    query: Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
    load: Mapping[str, object] | None = None,
    only: Sequence[str] = (),
    out: Path | str | None = None,
    master: str = DEFAULT_MASTER,
    quiet: bool = False,
) -> MeasuredRun:
    """Run a matrix file, or workloads on engines, each trial in a fresh process.

    A failed trial or a wrong answer raises no error; the trial's row has the status.
    As with the command, standard error shows the progress.

    Args:
        matrix: a matrix file; only `only`, `out` and `master` can be combined with it.
        workloads: names, `package.module:ATTRIBUTE`, `path/to/file.py[:ATTRIBUTE]`, or workload
            objects from such places. A workload defined in a notebook does not work, because
            trials run in fresh processes.
        engines: names, or `name/variant`.
        workers: numbers of workers; sequential engines use one.
        batch: batch sizes, in events, for variants that use them.
        repetitions: fresh processes per cell; None: 1.
        timeout_s: time limit of a trial, in addition to the length of its load; None: 120.
        events: approximate number of generated events; None: 1M.
        params: parameters of the generator.
        seed: seed of the generator; None: 1.
        dataset: start of a dataset's id, to use that dataset instead of generated input.
        query: query parameters of the workload.
        options: options of the engines; a name `engine.option` sets the option of one engine.
        load: offered load, with the keys of a matrix's `[[load]]`, such as {"rate_eps": 100_000, "window_s": 5}.
        only: patterns; run only the cells whose id matches one of them.
        out: folder for the run's directory; None: the default folder of runs.
        master: Spark master for datasets.
        quiet: show only problems.

    Raises:
        LabError, ModelError, DatasetError, EngineError: the request cannot be run; nothing was run.
        KeyboardInterrupt: the run was interrupted; the message has the command that resumes it.
    """
    arguments: dict[str, object] = {
        "workers": workers,
        "batch": batch,
        "repetitions": repetitions,
        "timeout_s": timeout_s,
        "events": events,
        "params": params,
        "seed": seed,
        "dataset": dataset,
        "query": query,
        "options": options,
        "load": load,
    }
    audience = Terminal(Verbosity.QUIET if quiet else Verbosity.USUAL)
    settings = {name: value for name, value in arguments.items() if value not in (None, (), [], {})}
    folder = None
    if matrix is None:
        text, source = _matrix_text(workloads, engines, settings, audience), "lab.run(...)"
    elif workloads or engines or settings:
        conflicts = {"workloads": workloads, "engines": engines, **settings}
        argument = next(name for name, value in conflicts.items() if value)
        raise LabError(
            f"lab.run: {argument} cannot be combined with a matrix; set it in the matrix file"
        )
    else:
        path = Path(matrix)
        text, source, folder = read_text(path, "the matrix"), str(path), path.parent
    plan = plan_run(text, source, folder, only=tuple(only))
    set_cache_variables()
    folder = runs().path if out is None else Path(out)
    run_dir, result = execute(plan, resume=None, out=folder, master=master, audience=audience)
    if result.interrupted:
        raise KeyboardInterrupt(f"interrupted; resume with: lab run --resume {run_dir}")
    return MeasuredRun(path=run_dir.absolute())


def _matrix_text(
    workloads: Sequence[str | Workload],
    engines: Sequence[str],
    settings: Mapping[str, Any],
    audience: Terminal,
) -> str:
    """Return the arguments as the text of a matrix."""
    for name, value in (("workloads", workloads), ("engines", engines)):
        if not value or isinstance(value, str):
            raise LabError(
                f"lab.run: {name} is {value!r}; give a list, or the path of a matrix, e.g. "
                'lab.run(workloads=["wordcount"], engines=["reference", "multicore"])'
            )
    arguments = RunArguments(
        workloads=[_reference(workload) for workload in workloads], engines=engines, **settings
    )
    if note := arguments.describe_ignored_workers():
        audience.warn(note)
    return arguments.to_toml()


def _reference(workload: str | Workload | Outputs) -> str:
    if isinstance(workload, str):
        return workload
    if isinstance(workload, OpenDeclaration):
        raise LabError(f"lab.run: {workload.error}")
    if isinstance(workload, Outputs):
        raise LabError(
            f"lab.run: workloads has the outputs of {workload.name}; give the path of the file that declares them"
        )
    if not workload.reference:
        raise LabError(
            f"lab.run: workload {workload.name!r} has no name or file that a fresh process can "
            "import; define it in a file, and give the path of that file"
        )
    return workload.reference
