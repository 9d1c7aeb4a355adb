"""Implements `streamlab.run`: benchmarks from Python, for notebooks and scripts.

It does the same as the command `lab run`: each trial is a fresh process, each answer is verified,
and the run is stored in a directory that `lab report` and `lab compare` accept.
"""

import html
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlab.lab.errors import LabError
from streamlab.lab.matrix.cells import Trial
from streamlab.lab.matrix.run_arguments import RunArguments
from streamlab.lab.matrix.toml_table import read_text
from streamlab.lab.runner.execution import execute
from streamlab.lab.runner.run_plan import plan_run
from streamlab.reports.numbers import number_of
from streamlab.reports.page import render_tables, write_report
from streamlab.results.schema import TrialRow
from streamlab.results.store import Run, read_run
from streamlab.results.table import as_table
from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.datasets.session import DEFAULT_MASTER
from streamlab.workloads.default_folders import runs, set_cache_variables
from streamlab.workloads.model import Workload

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger("lab.run")
_ROW_EM, _FRAME_EM = 4, 24
"""Height of the frame in a notebook, in em: per cell, and for the rest. Longer tables scroll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A finished run; `path` is its directory, for `lab report` and `lab compare`."""

    path: Path

    def frame(self) -> "pd.DataFrame":
        """Return one row per trial, in the order of execution, with the columns of `results/schema.py`.

        Integers and booleans use pandas' nullable types. Only verified trials have rates.
        """
        import pandas as pd
        import pyarrow as pa

        types = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        frame: pd.DataFrame = as_table(self._read().rows).to_pandas(types_mapper=types.get)
        return frame

    def report(self, out: Path | str | None = None) -> Path:
        """Write the report page and return its path; by default into the run's directory."""
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


@check_arguments(LabError)
def run(
    matrix: Path | str | None = None,
    *,
    workloads: Sequence[str | Workload] = (),
    engines: Sequence[str] = (),
    workers: Sequence[int] = (),
    batch: Sequence[int] = (),
    repetitions: int | None = None,
    events: int | None = None,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    dataset: str | None = None,
    query: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    out: Path | str | None = None,
    master: str = DEFAULT_MASTER,
) -> MeasuredRun:
    """Run a matrix file, or workloads on engines, each trial in a fresh process.

    A failed trial or a wrong answer raises nothing: the trial's row has the status.
    Progress is logged to the logger `lab.run`, at the levels INFO and WARNING.

    Args:
        matrix: a matrix file; only `only`, `out` and `master` can be combined with it.
        workloads: names, `package.module:ATTRIBUTE`, `path/to/file.py[:ATTRIBUTE]`, or workload
            objects from such places. A workload defined in a notebook does not work, because
            trials run in fresh processes.
        engines: names, or `name/variant`.
        workers: numbers of workers; sequential engines use one.
        batch: batch sizes, in events, for variants that use them.
        repetitions: fresh processes per cell; None: 1.
        events: approximate number of generated events; None: 1M.
        params: parameters of the generator.
        seed: seed of the generator; None: 1.
        dataset: start of a dataset's id, to use that dataset instead of generated input.
        query: query parameters of the workload.
        options: options of the engines; `engine.option` sets it for one engine.
        only: patterns; run only the cells whose id matches one of them.
        out: folder in which the run's directory is made; None: the default folder of runs.
        master: Spark master for datasets.

    Raises:
        LabError, ModelError, DatasetError, EngineError: the request cannot be run; nothing was run.
        KeyboardInterrupt: the run was interrupted; the message has the command that resumes it.
    """
    arguments: dict[str, Any] = {
        "workers": workers,
        "batch": batch,
        "repetitions": repetitions,
        "events": events,
        "params": params,
        "seed": seed,
        "dataset": dataset,
        "query": query,
        "options": options,
    }
    settings = {name: value for name, value in arguments.items() if value not in (None, (), [], {})}
    folder = None
    if matrix is None:
        text, source = _text(workloads, engines, settings), "lab.run(...)"
    elif workloads or engines or settings:
        conflicting = {"workloads": workloads, "engines": engines, **settings}
        argument = next(name for name, value in conflicting.items() if value)
        raise LabError(
            f"lab.run: {argument} cannot be combined with a matrix; set it in the matrix file"
        )
    else:
        path = Path(matrix)
        text, source, folder = read_text(path, "the matrix"), str(path), path.parent
    plan = plan_run(text, source, folder, only=tuple(only))
    set_cache_variables()
    place = runs().path if out is None else Path(out)
    run_dir, result = execute(plan, resume=None, out=place, master=master, audience=_Log())
    if result.interrupted:
        raise KeyboardInterrupt(f"interrupted; resume with: lab run --resume {run_dir}")
    return MeasuredRun(path=run_dir.absolute())


def _text(
    workloads: Sequence[str | Workload], engines: Sequence[str], settings: Mapping[str, Any]
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
        _LOG.warning("%s", note)
    return arguments.to_toml()


def _reference(workload: str | Workload) -> str:
    if isinstance(workload, str):
        return workload
    if not workload.reference:
        raise LabError(
            f"lab.run: workload {workload.name!r} has no name or file that a fresh process can "
            "import; define it in a file, and give the path of that file"
        )
    return workload.reference


class _Log:
    """Logs the progress of a run; an `Audience` (`streamlab.lab.runner.execution`)."""

    @contextmanager
    def step(self, what: str) -> Iterator[Progress]:
        _LOG.info("%s", what)
        yield lambda step, done, total: None

    def warn(self, text: str) -> None:
        _LOG.warning("%s", text)

    @contextmanager
    def trials(self, total: int | None) -> Iterator[None]:
        yield

    def oracle(self, key: str, dataset: Dataset) -> None:
        _LOG.info("expected answer of %s", key)

    def started(self, trial: Trial) -> None:
        pass

    def finished(self, trial: Trial, row: TrialRow) -> None:
        _LOG.info("%s #%d: %s", trial.cell.id, trial.repetition, row.status)
