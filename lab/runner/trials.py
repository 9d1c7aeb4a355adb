"""Runs all trials of a run, one after the other, each in a fresh process.

Each row is on disk before the next trial starts, so a stopped run can be resumed.
The trial that was running then starts again.
"""

import errno
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from streamlab.lab.errors import DiskFullError, LabError
from streamlab.lab.interrupt import pause
from streamlab.lab.load.arrivals import feasible_eps
from streamlab.lab.matrix.cells import Cell, Trial, interleave
from streamlab.lab.matrix.matrix import Settings, WorkloadEntry
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.runner.run_directory import (
    close_session,
    note_in_session,
    open_session,
    run_fingerprint,
)
from streamlab.lab.runner.search.record import Recorder
from streamlab.lab.runner.search.run import Searches
from streamlab.lab.runner.search.state import State
from streamlab.lab.runner.session import Session, begin, finish
from streamlab.lab.runner.trial_row import run_one
from streamlab.lab.trial.spec import OracleJob
from streamlab.results import schema
from streamlab.results.meta import RunMeta
from streamlab.results.schema import TrialRow
from streamlab.results.seal import compact, seal_files, seal_old_run, verify_run
from streamlab.results.store import read_trials, write_meta, write_table, write_trial
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.oracle_cache import move_old_answers

# The oracle is slow on purpose; it runs once for each dataset.
ORACLE_TIMEOUT_S = 3600.0


class Watcher(Protocol):
    """Receives the progress of a run."""

    def advised(self, text: str) -> None:
        """Receive a hint on how to improve the run."""

    def oracle(self, key: str, dataset: Dataset) -> None:
        """Note that the oracle's answer for a dataset is being looked up or computed."""

    def started(self, trial: Trial) -> None:
        """Note that a trial starts."""

    def finished(self, trial: Trial, row: TrialRow) -> None:
        """Note that a trial has ended and its row is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Result of a run so far.

    Attributes:
        rows: rows of all trials, in order.
        searches: state of each search, by cell id.
        interrupted: the run was interrupted.
    """

    rows: tuple[TrialRow, ...]
    searches: Mapping[str, State]
    interrupted: bool


def run(
    run_dir: Path,
    meta: RunMeta,
    cells: Sequence[Cell],
    datasets: Mapping[str, Dataset],
    watcher: Watcher,
    settings: Settings | None = None,
) -> RunResult:
    """Run every trial whose row is missing in the run directory.

    Args:
        run_dir: a directory from `streamlab.lab.runner.run_directory`.
        meta: content of run.json; written at the start and the end.
        cells: cells of the run.
        datasets: dataset of each workload, by key.
        watcher: receives progress.
        settings: settings of the matrix; None: the defaults.

    Raises:
        LabError: an oracle failed, the isolation is unavailable, or the disk is full. Stored rows stay, and
            the run can be resumed.
        ResultsError: a record of an earlier session is damaged.
    """
    seal_old_run(run_dir)
    verify_run(run_dir)
    done = read_trials(run_dir)
    began_ns = time.monotonic_ns()
    meta = replace(open_session(meta), fingerprint=run_fingerprint(meta))
    try:
        write_meta(run_dir, meta)
    except OSError as error:
        raise _no_space(run_dir, "run.json", error) from error
    interrupted = True
    session: Session | None = None
    try:
        session = begin(run_dir, meta, settings or Settings())
        meta = note_in_session(
            meta,
            energy={"provider": session.energy.name, "reason": session.energy.reason},
            idle_before_w=session.idle_before,
            confinement=session.confinement(),
        )
        write_meta(run_dir, meta)
        if (advice := session.advice()) is not None:
            watcher.advised(advice)
        _run_all(session, meta, cells, datasets, watcher, done)
        interrupted = False
        meta = replace(meta, complete=True)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _no_space(run_dir, "a file of the run", error) from error
    finally:
        _leave(run_dir, session, meta, interrupted=interrupted, began_ns=began_ns)
    rows = _in_order(read_trials(run_dir))
    searches = Searches(cells, rows, feasible_eps=_feasible(cells, datasets)).states
    return RunResult(rows=rows, searches=searches, interrupted=interrupted)


def _run_all(
    session: Session,
    meta: RunMeta,
    cells: Sequence[Cell],
    datasets: Mapping[str, Dataset],
    watcher: Watcher,
    done: dict[str, TrialRow],
) -> None:
    run_dir = session.run_dir
    for entry in _to_verify(cells, done):
        watcher.oracle(entry.key, datasets[entry.key])
        _make_oracle(run_dir, entry, datasets[entry.key])
    with_answer = {row.cell for row in done.values() if row.status == schema.OK}

    def run_and_record(trial: Trial) -> TrialRow:
        watcher.started(trial)
        keep = meta.keep_outputs and trial.cell.id not in with_answer
        dataset = datasets[trial.cell.entry.key]
        row = run_one(session, meta, trial, dataset, keep_outputs=keep)
        _record(run_dir, trial, row)
        if row.status == schema.OK:
            with_answer.add(trial.cell.id)
        done[trial.name] = session.measured[trial.name] = row
        watcher.finished(trial, row)
        return row

    fixed = interleave([cell for cell in cells if cell.search is None or cell.refusal is not None])
    for trial in fixed:
        if trial.name not in done:
            run_and_record(trial)
    searches = Searches(
        cells,
        _in_order(done),
        feasible_eps=_feasible(cells, datasets),
        recorded=Recorder(run_dir=run_dir),
    )
    while (step := searches.next()) is not None:
        pause(step.pause_s)
        searches.record(
            run_and_record(
                Trial(
                    cell=step.cell,
                    repetition=step.repetition,
                    order_index=len(done),
                    purpose=step.purpose,
                    probe=step.probe,
                    vote=step.vote,
                    rate_eps=step.rate_eps,
                )
            )
        )


def _feasible(cells: Sequence[Cell], datasets: Mapping[str, Dataset]) -> dict[str, float]:
    """Return the highest rate for which the input has enough events, by id of a searched cell."""
    return {
        cell.id: feasible_eps(cell.load, datasets[cell.entry.key].events)
        for cell in cells
        if cell.search is not None and cell.refusal is None and cell.load is not None
    }


def _to_verify(cells: Sequence[Cell], done: Mapping[str, TrialRow]) -> list[WorkloadEntry]:
    """Return the workloads whose oracle must run before the first trial."""
    started = [cell for cell in cells if cell.refusal is None]
    todo = [trial.cell for trial in interleave(started) if trial.name not in done]
    searches = [cell for cell in started if cell.search is not None]
    return list({cell.entry.key: cell.entry for cell in (*todo, *searches)}.values())


def _in_order(done: Mapping[str, TrialRow]) -> tuple[TrialRow, ...]:
    return tuple(sorted(done.values(), key=lambda row: row.order_index))


def _record(run_dir: Path, trial: Trial, row: TrialRow) -> None:
    """Seal the files of a trial and write its row."""
    names = (row.log, row.series, row.histograms, row.reconfigurations)
    files = [run_dir / name for name in names if name is not None]
    try:
        seal_files(run_dir, *files)
        write_trial(run_dir, trial.name, row)
    except OSError as error:
        raise _no_space(run_dir, f"the record of {trial.name}", error) from error


def _leave(
    run_dir: Path,
    session: Session | None,
    meta: RunMeta,
    *,
    interrupted: bool,
    began_ns: int,
) -> None:
    """Write the files that end a session; after an error, a resumed run writes them."""
    try:
        if session is not None:
            idle_after_w = finish(session, interrupted=interrupted)
            meta = note_in_session(meta, idle_after_w=idle_after_w)
            meta = replace(meta, generators=session.generators.records)
        meta = close_session(meta, interrupted=interrupted, began_ns=began_ns)
        write_meta(run_dir, meta)
        write_table(run_dir)
        seal_files(run_dir, *sorted((run_dir / "logs").glob("*.log")))
        compact(run_dir)
    except OSError as error:
        raise _no_space(run_dir, "the end of the session", error) from error


def _no_space(run_dir: Path, what: str, error: OSError) -> LabError:
    """Return the error for a failed write; stored rows are complete."""
    kind = DiskFullError if error.errno == errno.ENOSPC else LabError
    return kind(
        f"{run_dir}: {what} cannot be written: {error.strerror or error}; free space, then resume "
        f"with: lab run --resume {run_dir}"
    )


def _make_oracle(run_dir: Path, entry: WorkloadEntry, dataset: Dataset) -> None:
    """Compute the expected answer into the cache, in a process of its own to keep this one small."""
    move_old_answers(dataset)
    log = run_dir / "logs" / f"oracle-{entry.key}.log"
    job = OracleJob(dataset=dataset, workload=entry.found_by, query=entry.query)
    result = run_trial(job, log=log, timeout_s=ORACLE_TIMEOUT_S).result
    if result.get("status") is not None:
        by = entry.bound().checked_by
        raise LabError(
            f"the {by} of {entry.key} failed, so no answer can be verified: {result['reason']} ({log})"
        )
