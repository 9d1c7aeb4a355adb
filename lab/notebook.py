"""`lab.run(...)`: a run from Python, for notebooks and scripts, with the trials as a frame.

The same run as that of `lab run`: every trial in a fresh process, every answer verified, all of it
kept in a directory that the commands take.
"""

import html
import logging
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from streamlab.lab.errors import LabError
from streamlab.lab.matrix.cells import Trial, expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.lab.matrix.one_workload import OneWorkload, describe_ignored_workers, matrix_text
from streamlab.lab.matrix.toml_table import read_text
from streamlab.lab.runner.datasets import check_entries
from streamlab.lab.runner.execution import RunRequest, execute
from streamlab.reports.numbers import number_of
from streamlab.results.store import Row, Run, read_run
from streamlab.workloads.argument_errors import told
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.datasets.session import DEFAULT_MASTER
from streamlab.workloads.default_folders import runs, set_cache_variables
from streamlab.workloads.model import Workload

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger("lab.run")
_ROW_EM, _FRAME_EM = 4, 24
"""Height of the table in a notebook, which scrolls beyond that: of a cell, and around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A run that is over. `path` is its directory, which `lab report` and `lab compare` take."""

    path: Path

    def frame(self) -> "pd.DataFrame":
        """Return a row a trial, in the order in which they were run.

        The columns are those of `results/schema.py`. Whole numbers and truth values are of pandas'
        types that can be missing; only trials whose `status` is verified have rates.
        """
        import pandas as pd
        import pyarrow as pa

        from streamlab.results.table import as_table

        types = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        frame: pd.DataFrame = as_table(self._read().rows).to_pandas(types_mapper=types.get)
        return frame

    def report(self, out: Path | str | None = None) -> Path:
        """Write the report page and return its path; None: into the run's directory."""
        from streamlab.reports.page import write_report

        return write_report(self.path, None if out is None else Path(out))

    def _read(self) -> Run:
        return read_run(self.path)

    def __repr__(self) -> str:
        rows = self._read().rows
        counts = {row["status"]: 0 for row in rows}
        for row in rows:
            counts[row["status"]] += 1
        said = ", ".join(f"{count} {status}" for status, count in counts.items())
        return f"<run {self.path}: {number_of(len(rows), 'trial')}, {said}>"

    def _repr_html_(self) -> str:
        """Return the tables of the page, in a frame: neither style nor script meets the notebook's.

        The frame asks nobody for anything, and may run the page's own script and no other.
        """
        from streamlab.reports.page import render_tables

        run = self._read()
        height = _FRAME_EM + _ROW_EM * len({row["cell"] for row in run.rows})
        page = html.escape(render_tables(run), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="Results of {self.path.name}" '
            f'style="width: 100%; height: {height}em; border: 0"></iframe>'
        )


@told(LabError)
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

    A trial that fails or whose answer is wrong raises nothing: its row says so. How it gets on is
    logged as `lab.run`, at the levels INFO and WARNING.

    Args:
        matrix: a matrix file; with it, only `only`, `out` and `master` can be given.
        workloads: names, `package.module:ATTRIBUTE`, `path/to/file.py[:ATTRIBUTE]`, or workloads
            that one of these leads to: a fresh process cannot have what a notebook defines.
        engines: names, or `name/variant`.
        workers: numbers of workers; sequential engines have one.
        batch: batch sizes, where a variant takes one.
        repetitions: fresh processes a cell; None: 1.
        events: events of generated input, about; None: 1M.
        params: of the generator.
        seed: of generated input; None: 1.
        dataset: input of the catalogue, by the start of its id.
        query: of what is computed.
        options: of the engines; those of one engine alone as `engine.option`.
        only: patterns; only cells whose id matches one are run.
        out: where the run's directory is made; None: in the usual place.
        master: Spark master for datasets.

    Raises:
        LabError, ModelError, DatasetError, EngineError: what is asked cannot be run; the message
            says why, and nothing was run.
        KeyboardInterrupt: it was interrupted; the message says how to go on with it.
    """
    given: dict[str, Any] = {
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
    asked = {name: value for name, value in given.items() if value not in (None, (), [], {})}
    if matrix is None:
        request = RunRequest(text=_text(workloads, engines, asked), source="lab.run(...)")
    elif workloads or engines or asked:
        both = {"workloads": workloads, "engines": engines, **asked}
        wrong = next(name for name, value in both.items() if value)
        raise LabError(f"lab.run: {wrong} goes with workloads, not with a matrix, which says it")
    else:
        path = Path(matrix)
        request = RunRequest(
            text=read_text(path, "the matrix"), source=str(path), folder=path.parent
        )
    parsed = parse_matrix(request.text, request.source, request.folder)
    check_entries(parsed)
    set_cache_variables()
    run_dir, result = execute(
        parsed,
        RunRequest(
            text=request.text, source=request.source, folder=request.folder, only=tuple(only)
        ),
        expand(parsed, only),
        resume=None,
        out=runs().path if out is None else Path(out),
        master=master,
        audience=_Log(),
    )
    if result.interrupted:
        raise KeyboardInterrupt(f"interrupted; go on with: lab run --resume {run_dir}")
    return MeasuredRun(path=run_dir.absolute())


def _text(
    workloads: Sequence[str | Workload], engines: Sequence[str], asked: Mapping[str, Any]
) -> str:
    """Return the matrix that the arguments stand for."""
    for name, value in (("workloads", workloads), ("engines", engines)):
        if not value or isinstance(value, str):
            raise LabError(
                f"lab.run: {name} is {value!r}; give a list of them, or the path of a matrix, e.g. "
                'lab.run(workloads=["wordcount"], engines=["reference", "multicore"])'
            )
    all_asked = [
        OneWorkload(reference=_reference(workload), engines=engines, **asked)
        for workload in workloads
    ]
    undone = describe_ignored_workers(all_asked[0])  # of all alike
    if undone:
        _LOG.warning("%s", undone)
    contents = [tomllib.loads(matrix_text(one)) for one in all_asked]
    first = contents[0]
    if len(contents) > 1:
        first["run"]["name"] = "several"
        first["workload"] = [content["workload"][0] for content in contents]
    return tomli_w.dumps(first)


def _reference(workload: str | Workload) -> str:
    if isinstance(workload, str):
        return workload
    if not workload.reference:
        raise LabError(
            f"lab.run: a fresh process would not know where workload {workload.name!r} is from; "
            "give its name, or the path of its file"
        )
    return workload.reference


class _Log:
    """Writes how a run gets on to the log: a `streamlab.lab.runner.execution.Audience`, and its watcher."""

    @contextmanager
    def step(self, what: str) -> Iterator[Progress]:
        _LOG.info("%s", what)
        yield lambda step, done, total: None

    def warn(self, text: str) -> None:
        _LOG.warning("%s", text)

    @contextmanager
    def trials(self, total: int | None) -> Iterator["_Log"]:
        yield self

    def advised(self, text: str) -> None:
        _LOG.warning("%s", text)

    def oracle(self, key: str, dataset: Dataset) -> None:
        _LOG.info("expected answer of %s", key)

    def started(self, trial: Trial) -> None:
        pass

    def finished(self, trial: Trial, row: Row) -> None:
        _LOG.info("%s #%d: %s", trial.cell.id, trial.repetition, row["status"])
