"""Executes a run: prepares its datasets, creates or reopens its directory, runs all cells."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from streamlab.lab.interrupt import check as check_interrupt
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.matrix.matrix import Matrix
from streamlab.lab.runner.datasets import check_inputs, check_room_for, find_dataset
from streamlab.lab.runner.run_directory import (
    RunDirectory,
    entries_of,
    hold,
    new_meta,
    record_dataset,
)
from streamlab.lab.runner.runner import Runner, RunResult, Watcher
from streamlab.lab.runner.session import surroundings
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.default_folders import catalogue, check_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request to run a matrix or some of its cells.

    Attributes:
        text: the matrix, as TOML.
        source: name of the matrix in messages.
        folder: base of the matrix's relative paths; None: the current folder.
        only: patterns of the cells to run; empty: all cells.
        keep_outputs: store one answer for each cell.
    """

    text: str
    source: str
    folder: Path | None = None
    only: tuple[str, ...] = ()
    keep_outputs: bool = False


class Audience(Protocol):
    """Receives the progress of a run."""

    def step(self, what: str) -> AbstractContextManager[Progress]:
        """Show a step that may take long, while the context is open."""

    def warn(self, text: str) -> None:
        """Show a warning."""

    def trials(self, total: int | None) -> AbstractContextManager[Watcher]:
        """Show trials, while the context is open; None: searches decide the number."""


def execute(
    matrix: Matrix,
    request: RunRequest,
    cells: Sequence[Cell],
    *,
    resume: Path | None,
    out: Path,
    master: str,
    audience: Audience,
) -> tuple[Path, RunResult]:
    """Prepare the datasets and run all cells; return the run directory and the result.

    `matrix` was parsed from `request`. Without a run to `resume`, creates a directory below `out`.
    `master` is the Spark master for generating datasets.

    Raises:
        LabError, DatasetError, ResultsError: from the modules called here.
    """
    with ExitStack() as held:
        meta = new_meta(matrix, request.text, cells, request.only, request.keep_outputs)
        if resume is not None:
            held.enter_context(hold(resume))
            meta = RunDirectory.reopen(resume, meta).meta
        meta = replace(meta, container=surroundings(matrix.settings, cells))
        for place in (resume or out, catalogue().path):
            check_text(place.absolute())
        entries = entries_of(cells)
        check_inputs(entries)
        check_room_for(entries)
        datasets = {}
        for entry in entries:
            with audience.step(f"dataset of {entry.key}") as progress:
                datasets[entry.key] = find_dataset(
                    entry, master=master, progress=progress, say=audience.warn
                )
            check_interrupt()  # Spark may have dropped the exception
            meta = record_dataset(meta, entry.key, datasets[entry.key])
        if resume is not None:
            directory = RunDirectory(resume, meta)
        else:
            directory = RunDirectory.create(out, meta)
            held.enter_context(hold(directory.path))
        searched = any(cell.search is not None for cell in cells)
        total = None if searched else sum(cell.repetitions for cell in cells)
        with audience.trials(total) as watcher:
            runner = Runner(directory, cells, datasets, watcher, matrix.settings)
            return directory.path, runner.run()
