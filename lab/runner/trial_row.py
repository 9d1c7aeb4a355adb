"""Measures one trial and returns its row: request, result and state of the machine."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from streamlab.lab.cluster.fault import KILL, parse_fault
from streamlab.lab.cluster.fault_injector import refusal
from streamlab.lab.isolate.isolation import PROCESS
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.matrix.cells import Trial
from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.measure.machine import MachineState, await_near, inspect_machine
from streamlab.lab.measure.usage import core_warnings, kernel_warnings
from streamlab.lab.runner.launcher import TrialResult, run_trial
from streamlab.lab.runner.run_directory import fingerprint, now
from streamlab.lab.runner.session import Session, ceiling_warnings
from streamlab.results import schema
from streamlab.results.meta import RunMeta
from streamlab.results.schema import TrialRow
from streamlab.results.seal import move_sealed
from streamlab.results.store import make_row
from streamlab.workloads.control_group import usable_cores_here
from streamlab.workloads.datasets.dataset import Dataset, late_words, left_out_words
from streamlab.workloads.default_folders import runs

MAX_ATTEMPTS = 5
"""Limit of attempts for a trial whose cores must be near each other (`cores_within_ns`)."""


def measure_trial(
    session: Session, meta: RunMeta, trial: Trial, dataset: Dataset, *, keep_outputs: bool
) -> TrialRow:
    """Measure a trial in a fresh process and return its row; a refused cell runs nothing.

    Raises:
        DiskFullError: a disk is full; run the trial again.
        IsolationError: the container engine failed.
    """
    request = _request_columns(session, meta, trial, dataset)
    if trial.cell.refusal is not None:
        columns = {"status": schema.UNSUPPORTED, "reason": trial.cell.refusal, "attempt": 1}
        return make_row(trial.name, request | columns)
    cell, load, run_dir = trial.cell, trial.load, session.run_dir
    fault = None if cell.fault is None else parse_fault(cell.fault)
    refused_fault = fault and refusal(fault, cell.engine, cell.options)
    if refused_fault:
        columns = {"status": schema.UNSUPPORTED, "reason": refused_fault, "attempt": 1}
        return make_row(trial.name, request | columns)
    ceiling = None if load is None else session.ceiling(cell, dataset)
    series = Path("series") / f"{trial.name}.parquet"
    histograms = Path("series") / f"{trial.name}.hlog"
    reconfigurations = Path("series") / f"{trial.name}.reconfigurations.parquet"
    log = Path("logs") / f"{trial.name}.log"
    answer = run_dir / "outputs" / f"{trial.name}.attempt"
    # A hash of code is valid for one Python only. An image has its own Python, but its code cannot change.
    is_process = session.settings.isolation.kind == PROCESS
    spec = cell.job(
        dataset,
        load,
        code=meta.code.get(cell.entry.key) if is_process else None,
        series=run_dir / series,
        reconfigurations=run_dir / reconfigurations,
        histograms=run_dir / histograms,
        outputs=answer if keep_outputs else None,
        loses_worker=fault is not None and fault.action == KILL,
        energy=session.energy.name,
        energy_reason=session.energy.reason,
    )

    def run_attempt() -> TrialResult:
        _remove_files(run_dir / series, run_dir / histograms, run_dir / reconfigurations, answer)
        return run_trial(
            spec,
            log=run_dir / log,
            timeout_s=cell.timeout_s + _length_s(load),
            isolate=session.settings.isolation,
            hidden=_hidden_folders(run_dir, dataset),
            fault=fault,
        )

    before, result, after, warnings = _observe_trial(run_attempt, session.settings)
    if answer.exists():
        move_sealed(run_dir, answer, answer.with_name(f"{cell.slug}.parquet"))
    files = {
        "log": str(log),
        "series": _existing(run_dir, series),
        "histograms": _existing(run_dir, histograms),
        "reconfigurations": _existing(run_dir, reconfigurations),
    }
    row = make_row(trial.name, {**request, "attempt": result.attempt, **files, **result.columns})
    warnings += json.loads(row.warnings or "[]")
    warnings += [*kernel_warnings(row), *core_warnings(row)]
    lateness = late_words(dataset.origin)
    if row.late_rows and not lateness:
        lateness = f"{row.late_rows:,} of {dataset.events:,} rows came too late for their windows"
    warnings += filter(None, (lateness, left_out_words(dataset.origin)))
    if ceiling is not None:
        row = replace(row, generator_ceiling_eps=ceiling.ceiling_eps)
        rate_eps = None if load is None else load.rate_eps
        warnings += ceiling_warnings(ceiling, row.offered_eps or rate_eps)
    return replace(
        row,
        warnings=json.dumps(warnings),
        loadavg_before=before.loadavg,
        loadavg_after=after.loadavg,
        core_to_core_before_ns=_finite(before.core_to_core_ns),
        core_to_core_after_ns=_finite(after.core_to_core_ns),
    )


def _hidden_folders(run_dir: Path, dataset: Dataset) -> tuple[Path, ...]:
    """Return the folder of earlier trials, which a trial must not see.

    This is the folder of all runs, if it contains this run but no input of the trial. Otherwise it is the run's
    directory.
    """
    run, root = run_dir.absolute(), runs().path.absolute()
    inputs = [path.absolute() for stream in dataset.complete().streams for path in stream.paths]
    hides_root = run.parent == root and not any(path.is_relative_to(root) for path in inputs)
    return (root if hides_root else run,)


def _observe_trial(
    run_attempt: Callable[[], TrialResult], settings: Settings
) -> tuple[MachineState, TrialResult, MachineState, list[str]]:
    """Inspect the machine, run a trial, inspect again; return first state, result, second state and warnings.

    If the cores must be near each other but move apart, the trial runs again, at most MAX_ATTEMPTS times in all. After
    the last attempt, the result stands with a warning.
    """
    within_ns = settings.cores_within_ns
    near_words = "" if within_ns is None else f"within {within_ns:g} ns"
    for attempt in range(1, MAX_ATTEMPTS + 1):
        wait_warning = None if within_ns is None else await_near(within_ns)
        before = inspect_machine()
        result = run_attempt()
        after = inspect_machine(before)
        warnings = _warnings(before, after)
        # Check `before` as well: the cores may have moved since the wait.
        are_near = within_ns is None or (before.is_within(within_ns) and after.is_within(within_ns))
        if wait_warning is None and are_near:
            if attempt > 1:
                warnings.append(f"ran {attempt} times until the cores stayed {near_words}")
            break
        if wait_warning is not None:  # trying again would not help
            warnings.append(wait_warning)
            break
    else:
        warnings.append(f"cores did not stay {near_words} in {MAX_ATTEMPTS} attempts")
    return before, result, after, warnings


def _request_columns(
    session: Session, meta: RunMeta, trial: Trial, dataset: Dataset
) -> dict[str, object]:
    """Return the columns that describe the request, independent of the result."""
    cell, load = trial.cell, trial.load
    columns: dict[str, object] = {
        "cell": cell.id,
        "workload": cell.entry.name,
        "workload_label": cell.entry.label,
        "workload_query": json.dumps(dict(cell.query), sort_keys=True) if cell.query else None,
        "workload_code": meta.code.get(cell.entry.key),
        "engine": cell.engine,
        "variant": cell.variant,
        "workers": cell.workers,
        "batch": cell.batch,
        "options": json.dumps(dict(cell.options), sort_keys=True, default=str),
        "repetition": trial.repetition,
        "order_index": trial.order_index,
        "purpose": trial.purpose,
        "probe": trial.probe,
        "vote": trial.vote,
        "started_at": now(),
        "oversubscribed": cell.workers > (session.settings.isolation.cores or usable_cores_here()),
        "dataset": dataset.id,
        "seed": dataset.origin.get("seed"),
        "fingerprint": fingerprint(cell, dataset, meta),
        "isolate": session.settings.isolation.kind,
        "load_label": cell.load_label,
        "fault": cell.fault,
    }
    if cell.conditions is not None:
        columns |= cell.conditions.columns()
    if load is not None:
        columns |= {
            "load": json.dumps(msgspec.structs.asdict(load), sort_keys=True),
            "arrival": load.arrival,
            "warm_up_s": load.warm_up_s,
            "window_s": load.window_s,
        }
    return columns


def _length_s(load: LoadSpec | None) -> float:
    """Return the length of a load in seconds, which is added to the time limit."""
    return 0.0 if load is None else load.warm_up_s + load.window_s


def _remove_files(*paths: Path) -> None:
    """Remove files of an interrupted attempt, which would otherwise count as this attempt's files."""
    for path in paths:
        path.unlink(missing_ok=True)


def _warnings(before: MachineState, after: MachineState) -> list[str]:
    """Return the distinct warnings of both inspections; warnings that differ only in numbers count once."""
    by_pattern = {
        re.sub(r"[\d.]+", "0", text): text for text in (*after.warnings, *before.warnings)
    }
    return list(by_pattern.values())


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _existing(run_dir: Path, path: Path) -> str | None:
    return str(path) if (run_dir / path).exists() else None
