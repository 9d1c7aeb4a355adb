"""Runs all trials of a run, one after the other, each in a fresh process.

Each row is on disk before the next trial starts, so a stopped run can be resumed.
The resumed run starts with the trial that was interrupted.
"""

import errno
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from streamlab.lab.errors import LabError
from streamlab.lab.interrupt import pause
from streamlab.lab.load.arrivals import feasible_eps
from streamlab.lab.matrix.cells import Cell, Trial, interleave
from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.runner.run_directory import RunDirectory
from streamlab.lab.runner.run_plan import entries_of
from streamlab.lab.runner.search.run import Searches
from streamlab.lab.runner.search.state import State
from streamlab.lab.runner.session import Session, begin, finish
from streamlab.lab.runner.trial_row import measure_trial
from streamlab.lab.trial.spec import OracleJob
from streamlab.results import schema
from streamlab.results.schema import TrialRow
from streamlab.results.store import read_trials
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.oracle_cache import expected_rows

ORACLE_TIMEOUT_S = 3600.0
"""Time limit of an oracle; oracles are simple and slow, and run once per dataset."""


class Watcher:
    """Receives the progress of a run; this class ignores all reports."""

    def warn(self, text: str) -> None:
        """Receive a warning, or a hint on how to improve the run."""

    def oracle(self, key: str, dataset: Dataset) -> None:
        """Note that the oracle's answer for a dataset is being looked up or computed."""

    def started(self, trial: Trial) -> None:
        """Note that a trial starts."""

    def finished(self, trial: Trial, row: TrialRow) -> None:
        """Note that a trial has ended and its row is stored."""

    def finished_part(self, run_dir: Path, rows: Sequence[TrialRow]) -> None:
        """Receive the rows of a part of the run; another part follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Result of a run so far."""

    rows: tuple[TrialRow, ...]
    searches: Mapping[str, State]
    interrupted: bool


class Runner:
    """Runs the cells of a run in its directory, and skips trials whose rows are stored."""

    def __init__(
        self,
        directory: RunDirectory,
        cells: Sequence[Cell],
        datasets: Mapping[str, Dataset],
        watcher: Watcher,
        settings: Settings,
    ) -> None:
        """Prepare to run `cells`; `datasets` has the input of each workload, by key."""
        self._directory = directory
        self._cells = cells
        self._datasets = datasets
        self._watcher = watcher
        self._settings = settings
        self._done: dict[str, TrialRow] = {}

    def run(self) -> RunResult:
        """Run every trial whose row is missing in the run directory.

        Raises:
            LabError: an oracle failed, the isolation is unavailable, or the disk is full. Stored rows
                stay, and the run can be resumed.
            ResultsError: a record of an earlier session is damaged.
        """
        directory = self._directory
        began_ns = time.monotonic_ns()
        self._done = directory.open_session()
        interrupted = True
        session: Session | None = None
        try:
            session = begin(directory.path, directory.meta, self._settings)
            directory.note_in_session(
                energy={"provider": session.energy.name, "reason": session.energy.reason},
                idle_before_w=session.idle_before,
                confinement=session.confinement(),
            )
            directory.save()
            if (advice := session.advice()) is not None:
                self._watcher.warn(advice)
            cells = self._waiting_cells()
            for warning in session.prepare_brokers(cells):
                self._watcher.warn(warning)
            self._compute_answers(cells)
            self._measure_all(session)
            interrupted = False
            directory.meta = replace(directory.meta, complete=True)
        except KeyboardInterrupt:
            pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            with directory.writing("a file of the run"):
                raise
        finally:
            if session is not None:
                with directory.writing("the end of the session"):
                    idle_after_w = finish(session, interrupted=interrupted)
                directory.note_in_session(idle_after_w=idle_after_w)
                directory.meta = replace(directory.meta, generators=session.ceilings)
            directory.close_session(interrupted=interrupted, began_ns=began_ns)
        self._done = read_trials(directory.path)
        return RunResult(
            rows=self._rows(), searches=self._searches().states, interrupted=interrupted
        )

    def _waiting_cells(self) -> list[Cell]:
        """Return the cells with trials to run."""
        runnable = [cell for cell in self._cells if cell.refusal is None]
        cells = [trial.cell for trial in interleave(runnable) if trial.name not in self._done]
        return [*cells, *(cell for cell in runnable if cell.search is not None)]

    def _compute_answers(self, cells: Sequence[Cell]) -> None:
        """Compute the expected answers of the cells' workloads, and cache them.

        Each oracle runs in a separate process, to keep this process small.
        """
        for entry in entries_of(cells):
            dataset = self._datasets[entry.key]
            self._watcher.oracle(entry.key, dataset)
            log = self._directory.path / "logs" / f"oracle-{entry.key}.log"
            job = OracleJob(dataset=dataset, workload=entry.full_reference, query=entry.query)
            result = run_trial(job, log=log, timeout_s=ORACLE_TIMEOUT_S).columns
            if result.get("status") is not None:
                raise LabError(
                    f"the {entry.bound().checked_by} of {entry.key} failed, so no answer can be "
                    f"verified: {result['reason']} ({log})"
                )
            if expected_rows(entry.bound(), dataset) == 0:
                self._watcher.warn(
                    f"the expected answer of {entry.key} is empty, so nothing will be compared; use more "
                    f"than {dataset.events:,} events, or parameters that give outputs"
                )

    def _measure_all(self, session: Session) -> None:
        """Measure all missing trials: planned cells part by part, then the searches."""
        planned_cells = [
            cell for cell in self._cells if cell.search is None or cell.refusal is not None
        ]
        last = max((cell.part for cell in planned_cells), default=0)
        for part, trials in groupby(interleave(planned_cells), key=lambda trial: trial.cell.part):
            missing_trials = [trial for trial in trials if trial.name not in self._done]
            for trial in missing_trials:
                self._measure(session, trial)
            if missing_trials and part < last:
                names = {cell.id for cell in planned_cells if cell.part == part}
                rows = [row for row in self._rows() if row.cell in names]
                self._watcher.finished_part(self._directory.path, rows)
        searches = self._searches(self._directory.path)
        while (vote := searches.next()) is not None:
            pause(searches.pause_s(vote.cell))
            searches.record(self._measure(session, vote))

    def _measure(self, session: Session, trial: Trial) -> TrialRow:
        """Measure a trial and store its row; if requested, also store a cell's first right answer."""
        self._watcher.started(trial)
        cell = trial.cell
        keep = self._directory.meta.keep_outputs and not any(
            row.cell == cell.id and row.status == schema.OK for row in self._done.values()
        )
        dataset = self._datasets[cell.entry.key]
        row = measure_trial(session, self._directory.meta, trial, dataset, keep_outputs=keep)
        self._directory.record(trial.name, row)
        self._done[trial.name] = session.measured[trial.name] = row
        self._watcher.finished(trial, row)
        return row

    def _searches(self, run_dir: Path | None = None) -> Searches:
        """Return the searches, after replaying the rows so far."""
        feasible = {
            cell.id: feasible_eps(cell.load, self._datasets[cell.entry.key].events)
            for cell in self._cells
            if cell.search is not None and cell.refusal is None and cell.load is not None
        }
        return Searches(self._cells, self._rows(), feasible_eps=feasible, run_dir=run_dir)

    def _rows(self) -> tuple[TrialRow, ...]:
        return tuple(sorted(self._done.values(), key=lambda row: row.order_index))
