"""Runs all trials of a run, one after the other, each in a fresh process.

Every finished trial is on disk before the next one begins, so that a run that is stopped at any
moment can be resumed; the one that was under way is begun again.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lab.cells import Cell, Trial, interleave
from lab.errors import LabError
from lab.run_dir import close_session, fingerprint, now, open_session, run_fingerprint
from lab.spawn import run_trial
from lab.trial_spec import TrialSpec
from results import schema
from results.store import Row, finished, write_meta, write_table, write_trial
from workloads.datasets.dataset import Dataset

# The oracle is slow on purpose; it has to be made once for every dataset.
ORACLE_TIMEOUT_S = 3600.0


class Watcher(Protocol):
    """Is told how a run gets on."""

    def oracle(self, key: str, dataset: Dataset) -> None:
        """The oracle's answer for a dataset is looked up, or made."""

    def started(self, trial: Trial) -> None:
        """A trial begins."""

    def finished(self, trial: Trial, row: Row) -> None:
        """A trial has ended and is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What came of a run so far: all its rows, and whether it was interrupted."""

    rows: tuple[Row, ...]
    interrupted: bool


def run(
    run_dir: Path,
    meta: dict[str, Any],
    cells: Sequence[Cell],
    datasets: Mapping[str, Dataset],
    watcher: Watcher,
) -> RunResult:
    """Run every trial that the run directory does not have yet.

    Args:
        run_dir: a directory from `lab.run_dir`.
        meta: its run.json, changed here and written at the start and the end.
        cells: the cells.
        datasets: by workload key.
        watcher: is told how it gets on.

    Raises:
        LabError: an oracle failed.
        ResultsError: a record of an earlier session is damaged.
    """
    done = finished(run_dir)
    trials = interleave(cells)
    began_ns = time.monotonic_ns()
    open_session(meta)
    meta["fingerprint"] = run_fingerprint(meta)
    write_meta(run_dir, meta)
    interrupted = True
    try:
        todo = [trial for trial in trials if trial.name not in done]
        for key in dict.fromkeys(trial.cell.entry.key for trial in todo):
            watcher.oracle(key, datasets[key])
            _make_oracle(run_dir, key, datasets[key])
        kept = {row["cell"] for row in done.values() if row["status"] == schema.OK}
        for trial in todo:
            watcher.started(trial)
            keep = bool(meta["keep_outputs"]) and trial.cell.id not in kept
            row = _run_one(run_dir, meta, trial, datasets[trial.cell.entry.key], keep)
            write_trial(run_dir, trial.name, row)
            if row["status"] == schema.OK:
                kept.add(trial.cell.id)
            done[trial.name] = row
            watcher.finished(trial, row)
        interrupted = False
        meta["complete"] = True
    except KeyboardInterrupt:
        pass
    finally:
        close_session(meta, interrupted=interrupted, began_ns=began_ns)
        write_meta(run_dir, meta)
        write_table(run_dir)
    rows = sorted(finished(run_dir).values(), key=lambda row: int(row["order_index"]))
    return RunResult(rows=tuple(rows), interrupted=interrupted)


def _run_one(
    run_dir: Path, meta: Mapping[str, Any], trial: Trial, dataset: Dataset, keep_outputs: bool
) -> Row:
    cell = trial.cell
    series = Path("series") / f"{trial.name}.parquet"
    log = Path("logs") / f"{trial.name}.log"
    spec = TrialSpec(
        engine=cell.engine,
        variant=cell.variant,
        workers=cell.workers,
        batch=cell.batch or 1,
        options=cell.options,
        dataset=dataset,
        spawned_ns=time.monotonic_ns(),
        series=run_dir / series,
        histograms=run_dir / "series" / f"{trial.name}.hlog",
        outputs=run_dir / "outputs" / f"{cell.slug}.parquet" if keep_outputs else None,
    )
    started_at = now()
    ended = run_trial(spec, log=run_dir / log, timeout_s=cell.timeout_s)
    return {
        "cell": cell.id,
        "workload": cell.entry.name,
        "workload_label": cell.entry.label,
        "engine": cell.engine,
        "variant": cell.variant,
        "workers": cell.workers,
        "batch": cell.batch,
        "options": json.dumps(dict(cell.options), sort_keys=True, default=str),
        "repetition": trial.repetition,
        "attempt": ended.attempt,
        "order_index": trial.order_index,
        "started_at": started_at,
        "oversubscribed": cell.workers > len(os.sched_getaffinity(0)),
        "dataset": dataset.id,
        "seed": dataset.origin.get("seed"),
        "fingerprint": fingerprint(cell, dataset, meta["host"]),
        "log": str(log),
        "series": str(series) if (run_dir / series).exists() else None,
        **ended.result,
    }


def _make_oracle(run_dir: Path, key: str, dataset: Dataset) -> None:
    """Make the expected answer in a process of its own, so that this one stays small.

    Trials then find it in the cache.
    """
    log = run_dir / "logs" / f"oracle-{key}.log"
    spec = TrialSpec(
        engine="",
        variant="",
        workers=1,
        batch=1,
        options={},
        dataset=dataset,
        spawned_ns=0,
        runs_oracle_only=True,
    )
    result = run_trial(spec, log=log, timeout_s=ORACLE_TIMEOUT_S).result
    if result.get("status") is not None:
        raise LabError(
            f"the oracle of {key} failed, nothing can be verified: {result['reason']} ({log})"
        )
