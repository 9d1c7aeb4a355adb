"""Runs a job in the measured process: `python -m streamlab.lab.trial SPEC.json EVIDENCE_FOLDER`.

Loads an engine, prepares it, times its run, takes the answer and closes the engine.
Writes evidence (`streamlab.lab.trial.evidence`), also after an exception of the engine.
If the process dies, the lab notices the missing evidence.
The process does not judge the answer, because it cannot see the expected answer.
"""

import errno
import faulthandler
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path

import msgspec

from streamlab.engines.broker.ceiling import broker_ceiling_eps, prepare_broker
from streamlab.engines.environment import activate
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.protocol import Engine, OfferedLoad, Task, new_topics
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.errors import LoadError
from streamlab.lab.load.schedule import offer
from streamlab.lab.trial.collector import collect_from_now_on
from streamlab.lab.trial.evidence import Evidence, store_answer, write_evidence
from streamlab.lab.trial.report import Reporter
from streamlab.lab.trial.scratch import temporary_folder
from streamlab.lab.trial.spec import (
    BrokerJob,
    CeilingJob,
    EditedError,
    EngineTrial,
    Job,
    OracleJob,
    read_job,
    workload_of,
)
from streamlab.lab.trial.timed_part import drive, print_traceback
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DamagedError
from streamlab.workloads.datasets.integrity import verify
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.model import Columns, Workload

Result = dict[str, object]


class OwnFilesError(Exception):
    """The lab's own files cannot be written; see `__cause__`."""


def main(arguments: list[str]) -> None:
    """Do the job and exit immediately, without waiting for threads."""
    faulthandler.enable()
    if isinstance(sys.stdout, TextIOWrapper):  # a workload may print characters the locale lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    spec_path, folder = map(Path, arguments)
    evidence = gather(read_job(spec_path), folder, Reporter(folder))
    write_evidence(evidence, folder)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the engine may have closed the stream
            stream.flush()
    # The evidence reports threads that the engine left; they must not delay the end.
    os._exit(0)


def gather(job: Job, folder: Path, reporter: Reporter) -> Evidence:
    """Do a job, write its answer to the folder, and return its evidence."""
    columns: Result = {}
    try:
        match job:
            case EngineTrial():
                return _run_trial(job, folder, columns, reporter)
            case OracleJob():
                with _own_files():
                    _prepare_oracle(job, reporter)
            case CeilingJob():
                columns["generator_ceiling_eps"] = _measure_ceiling(job, reporter)
            case BrokerJob():
                columns["generator_ceiling_eps"] = _try_broker(job, reporter)
        return Evidence(columns=columns)
    except UnsupportedError as error:
        failure = Evidence(status="unsupported", reason=str(error), columns=columns)
    except (LoadError, DamagedError, EditedError) as error:  # not the engine's fault
        failure = Evidence(status="invalid", reason=str(error), columns=columns)
    except MemoryError as error:
        print_traceback()
        failure = Evidence(status="oom", reason=f"MemoryError: {error}", columns=columns)
    except BaseException as error:
        print_traceback()
        cause = error.__cause__ if isinstance(error, OwnFilesError) else error
        failure = Evidence(
            status="crash",
            reason=f"{type(cause).__name__}: {cause}",
            lacked_space=isinstance(error, OwnFilesError) and _is_full(cause),
            columns=columns,
        )
    return failure


def _is_full(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ENOSPC


@contextmanager
def _own_files() -> Iterator[None]:
    """Convert errors from writing the lab's own files, to distinguish them from an engine's errors."""
    try:
        yield
    except OSError as error:
        raise OwnFilesError from error


def _run_trial(spec: EngineTrial, folder: Path, columns: Result, reporter: Reporter) -> Evidence:
    """Do a trial; adds each reading to `columns` at once, so that the reading survives a failure."""
    workload = workload_of(spec)
    activate(spec.engine)
    engine = find_engine(spec.engine)
    columns["engine_version"] = engine.version()
    columns["properties"] = json.dumps(_properties(engine, workload.name, spec.variant))
    columns["startup_s"] = (time.monotonic_ns() - spec.spawned_ns) / 1e9
    dataset, load = _offered_input(spec, workload, reporter)
    with temporary_folder("lab-trial-") as scratch:
        task = Task(
            workload=workload,
            dataset=dataset,
            variant=spec.variant,
            workers=spec.workers,
            batch=spec.batch,
            options=spec.options,
            scratch=scratch,
            load=load,
            expected_outputs=spec.expected_outputs,
            topics=spec.topics or new_topics(),
        )
        timed, answer, warnings = drive(engine, task, spec, columns, reporter)
    reporter.phase("report")
    with _own_files():
        timed = msgspec.structs.replace(timed, **_store(answer, folder))
    return Evidence(columns=columns, warnings=tuple(warnings), timed=timed)


def _offered_input(
    spec: EngineTrial, workload: Workload, reporter: Reporter
) -> tuple[Dataset, OfferedLoad | None]:
    """Return the input and its load; with a load, the input is truncated to the length of the load.

    Checks files that changed after the run's check, because engines may use their own readers.
    """
    dataset = verify(spec.dataset)
    if spec.load is None:
        return dataset, None
    reporter.phase("offer")
    offered = offer(spec.load, dataset, grid=workload.output.grid, program=workload.program)
    return offered.dataset, offered.load


def _store(answer: Columns | str, folder: Path) -> dict[str, object]:
    """Write an answer; return its columns, or why it cannot be stored."""
    if isinstance(answer, str):
        return {"answer": None, "answer_error": answer}
    try:
        return {"answer": store_answer(answer, folder)}
    except (TypeError, ValueError) as error:
        return {"answer": None, "answer_error": str(error)}


def _prepare_oracle(job: OracleJob, reporter: Reporter) -> None:
    reporter.phase("oracle")
    collect_from_now_on()
    expected(workload_of(job), job.dataset)


def _measure_ceiling(job: CeilingJob, reporter: Reporter) -> float | None:
    reporter.phase("ceiling")
    collect_from_now_on()
    activate(job.engine)
    return find_engine(job.engine).generator_ceiling_eps(job.variant, job.batch)


def _try_broker(job: BrokerJob, reporter: Reporter) -> float | None:
    reporter.phase("broker")
    collect_from_now_on()
    if job.row_bytes:
        return broker_ceiling_eps(job.address, job.row_bytes, job.topics)
    prepare_broker(job.address, job.topics)
    return None


def _properties(engine: Engine, workload: str, variant: str) -> dict[str, dict[str, object]]:
    properties = engine.properties(workload, variant)
    return {name: {"holds": p.holds, "why": p.why} for name, p in properties.items()}
