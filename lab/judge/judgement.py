"""Converts a trial's evidence to columns of its row, and writes the trial's files in the run."""

import errno
import json
import traceback
from pathlib import Path

import pyarrow as pa

from streamlab.engines.protocol import OfferedLoad
from streamlab.json_value import json_number
from streamlab.lab.errors import LoadError
from streamlab.lab.judge import record
from streamlab.lab.judge.client import Judgement
from streamlab.lab.judge.lab_readings import PhaseReport, contradictions, read_phases
from streamlab.lab.judge.verdict import Case, conclude
from streamlab.lab.load.schedule import offer
from streamlab.lab.measure import elastic
from streamlab.lab.measure.hdr import write_log
from streamlab.lab.measure.series import Phases, Recording, write_series, write_table
from streamlab.lab.trial.evidence import READINGS, Evidence, TimedPart, load_answer, read_evidence
from streamlab.lab.trial.spec import EditedError, EngineTrial, Job, workload_of
from streamlab.results import schema
from streamlab.results.row_conversion import convert_row
from streamlab.workloads.control_group import usable_cores_here
from streamlab.workloads.datasets.arrow import arrow_array
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.oracle_cache import expected_rows
from streamlab.workloads.model import Columns, ModelError, Workload

Result = dict[str, object]


def judge(job: Job, folder: Path, phase_reports: tuple[PhaseReport, ...] | None) -> Judgement:
    """Judge a job by its evidence; return columns in types that fit the results.

    `phase_reports` are the lab's readings of the trial; None: not observed.
    """
    try:
        evidence = read_evidence(folder)
    except (OSError, ValueError, TypeError, KeyError) as error:
        evidence = Evidence(status=schema.INVALID, reason=f"the evidence cannot be read: {error}")
    if evidence is None:
        return Judgement(columns={})
    result: Result = {name: value for name, value in evidence.columns.items() if name in READINGS}
    if evidence.status is not None:
        # A trial must not declare its own answer correct.
        has_failed = evidence.status not in schema.VERIFIED
        result["status"] = evidence.status if has_failed else schema.INVALID
        result["reason"] = evidence.reason
        return Judgement(columns=_convert_columns(result), lacked_space=evidence.lacked_space)
    lacked_space = False
    if isinstance(job, EngineTrial):
        lacked_space = _judge_trial(job, folder, evidence, phase_reports, result)
    return Judgement(columns=_convert_columns(result), lacked_space=lacked_space)


def expected_size(job: Job) -> int | None:
    """Return the number of records in a trial's expected answer; None: not computed yet."""
    if not isinstance(job, EngineTrial):
        return None
    try:
        workload = workload_of(job)
        return expected_rows(workload, _offered_input(job, workload)[0])
    except (EditedError, LoadError, DatasetError, ModelError):
        return None  # the trial reports the same error


def _judge_trial(
    job: EngineTrial,
    folder: Path,
    evidence: Evidence,
    phase_reports: tuple[PhaseReport, ...] | None,
    result: Result,
) -> bool:
    """Add the columns of a trial to `result`; return whether the lab lacked disk space."""
    timed = evidence.timed
    if timed is None:
        result |= {"status": schema.INVALID, "reason": "the evidence has no timed part"}
        return False
    try:
        workload = workload_of(job)
        dataset, load = _offered_input(job, workload)
        answer = _read_answer(timed, folder)
        case = Case(
            workload=workload,
            dataset=dataset,
            load=load,
            spec=job.load,
            timed=timed,
            warnings=[*evidence.warnings, *timed.measured.notices],
        )
        result["duration_s"] = case.duration_s
        _write_measurements(case, job, result)
        conclude(case, answer, result, _compare_readings(phase_reports, timed, result))
        if job.outputs is not None and not isinstance(answer, str):
            _write_answer(answer, job.outputs)
    except (EditedError, LoadError, DatasetError) as error:
        result |= {"status": schema.INVALID, "reason": str(error)}
    except MemoryError as error:
        reason = f"the comparison of the answer ran out of memory: {error}"
        result |= {"status": schema.INVALID, "reason": reason}
    except Exception as error:
        traceback.print_exc()
        result |= {"status": schema.CRASH, "reason": f"{type(error).__name__}: {error}"}
        return isinstance(error, OSError) and error.errno == errno.ENOSPC
    return False


def _offered_input(job: EngineTrial, workload: Workload) -> tuple[Dataset, OfferedLoad | None]:
    """Return the input and its load, as specified by the lab."""
    if job.load is None:
        return job.dataset, None
    offered = offer(job.load, job.dataset, grid=workload.output.grid, program=workload.program)
    return offered.dataset, offered.load


def _read_answer(timed: TimedPart, folder: Path) -> Columns | str:
    """Return the answer of a trial, or the reason why it cannot be compared."""
    if timed.answer is None:
        return timed.answer_error or "the trial left no answer"
    try:
        return load_answer(timed.answer, folder)
    except (OSError, ValueError, ModelError) as error:
        return str(error)


def _compare_readings(
    phase_reports: tuple[PhaseReport, ...] | None, timed: TimedPart, result: Result
) -> list[str]:
    """Add the lab's readings to `result`; return texts about readings of the trial that contradict them."""
    if not timed.start_ns <= timed.ran_ns <= timed.end_ns:
        return ["the trial's clock went backwards"]
    if phase_reports is None:
        return []
    lab = read_phases(phase_reports)
    if isinstance(lab, str):
        return [lab]
    result |= {
        "lab_duration_s": lab.most_s,
        "prepare_s": lab.prepare_s,
        "answer_s": lab.answer_s,
    }
    cpu_s = result.get("cpu_s")
    return contradictions(
        lab,
        timed_s=json_number(result["duration_s"]),
        cpu_s=None if cpu_s is None else json_number(cpu_s),
        cores=usable_cores_here(),
    )


def _write_measurements(case: Case, job: EngineTrial, result: Result) -> None:
    """Add the measured columns to `result`, and warnings to the case; write series and histograms."""
    measured, timed = case.timed.measured, case.timed
    result |= record.engine_columns(measured)
    case.warnings.extend(record.counter_warnings(measured))
    result |= elastic.columns(measured.elasticity)
    if case.load is not None:
        ran_ns = timed.ran_ns - timed.start_ns
        sent = record.sent_of(measured)
        result |= record.load_columns(sent, case.load, case.dataset.events, ran_ns)
    result |= {
        name: value
        for name, value in timed.energy.items()
        if name.startswith(("energy_", "power_"))
    }
    histograms = record.histograms(measured)
    if job.histograms is not None and histograms:
        write_log(histograms, case.duration_s, job.histograms)
    if job.series is not None:
        write_series(_collect_series(case), job.series)
    if job.reconfigurations is not None and measured.elasticity is not None:
        elastic.write_reconfigurations(measured.elasticity, job.reconfigurations)


def _collect_series(case: Case) -> Recording:
    load, timed = case.load, case.timed
    return Recording(
        phases=Phases(
            start_ns=timed.start_ns,
            end_ns=timed.end_ns,
            warm_up_ns=None if load is None else load.warm_up_ns,
            load_end_ns=None if load is None else load.end_ns,
        ),
        progress=timed.measured.progress,
        elasticity=timed.measured.elasticity,
        tracks=timed.tracks,
    )


def _write_answer(answer: Columns, path: Path) -> None:
    """Write an answer as Parquet, atomically."""
    write_table(pa.table({name: arrow_array(values) for name, values in answer.items()}), path)


def _convert_columns(result: Result) -> Result:
    """Return the columns in types that fit the results; report values that do not fit."""
    fit, unfit = convert_row(result)
    if unfit:
        reasons = [str(fit["reason"])] if fit.get("reason") else []
        fit["reason"] = "; ".join([*reasons, *unfit])
        if fit.get("status") in schema.VERIFIED:
            fit["status"] = schema.INVALID
    return json.loads(json.dumps(fit)) if fit else fit
