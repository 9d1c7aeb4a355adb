"""Runs one trial in a fresh process or container and returns its result as columns of a row."""

import errno
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import KeepsFolders
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.cluster.fault import Fault
from streamlab.lab.cluster.fault_injector import FaultInjector
from streamlab.lab.errors import DiskFullError
from streamlab.lab.host.git import environment
from streamlab.lab.host.installation import SOURCE, python_path
from streamlab.lab.isolate.container import run_contained
from streamlab.lab.isolate.isolation import CONTAINER, Isolation
from streamlab.lab.isolate.process import FileAccess, Outcome, run_isolated
from streamlab.lab.judge.client import Judge, Judgement, judge_of
from streamlab.lab.runner.container_job import FOLDER, translate
from streamlab.lab.runner.trial_topics import delete_topics, deletion, name_topics
from streamlab.lab.runner.witness import Witness
from streamlab.lab.trial.evidence import EVIDENCE
from streamlab.lab.trial.scratch import trial_folder
from streamlab.lab.trial.spec import BrokerJob, CeilingJob, EngineTrial, Job, OracleJob, write_job
from streamlab.results import schema
from streamlab.workloads.datasets.oracle_cache import answers_folder
from streamlab.workloads.default_folders import cache_folder, start_folder

Result = dict[str, object]
LAST_LINES = 5
"""A row quotes this many of a log's last lines; the complete log is stored."""
LONGEST_REASON = 2000
"""Longest reason in characters."""
SPEC = "spec.json"
ATTEMPTS = ".attempts"
"""File next to the logs; each line is the name of a job's log, and stands for one attempt.

The log itself cannot count attempts, because the engine writes to the log.
"""
_NO_SPACE = os.strerror(errno.ENOSPC)
"""Python, Java and Arrow print this when a disk is full; `full_disk` verifies it."""
LEAST_FREE_BYTES = 16 << 20
"""About the size of a trial's log, series and record; with less space, the next trial would fail as well."""
HAVE_ROOM = "the disks of run directory and TMPDIR have room now, so only this engine lacked space"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """Result of a trial: columns of its row, and the number of the attempt, from 1."""

    columns: Result
    attempt: int


def run_trial(
    job: Job,
    *,
    log: Path,
    timeout_s: float,
    isolate: Isolation | None = None,
    hidden: Sequence[Path] = (),
    fault: Fault | None = None,
) -> TrialResult:
    """Run one trial; write its output to `log`, after a line with the number of the attempt.

    Afterwards no process, container, temporary file or topic of the trial is left.
    This promise also holds after an exception, and if this process is killed. After a kill, only the topics of a
    trial in a container stay.

    Args:
        job: a trial, or an oracle's or a generator's job, with this machine's paths.
        log: file to which the output is appended.
        timeout_s: time limit.
        isolate: how the trial is isolated; None for a process. For a container, first call
            `streamlab.lab.isolate.check`.
        hidden: further folders that a trial in a process must not see. Stored answers for its input are
            always hidden.
        fault: fault to cause in the trial's cluster, which the lab must have started; None for no fault.

    Raises:
        ClusterError: a cluster does not recover from the fault.
        DiskFullError: a disk that the lab needs is full; the trial says nothing about the engine.
        IsolationError: the container engine failed.
    """
    job = name_topics(job)
    try:
        result = _run_attempt(job, log, timeout_s, isolate, hidden, fault)
    except BaseException:
        delete_topics(job, log)
        raise
    if result.columns.get("status") in (schema.TIMEOUT, schema.CRASH, schema.OOM):
        delete_topics(job, log)
    return result


def _run_attempt(
    job: Job,
    log: Path,
    timeout_s: float,
    isolate: Isolation | None,
    hidden: Sequence[Path],
    fault: Fault | None,
) -> TrialResult:
    """Run, judge and count one attempt; if a disk that the lab needs is full, raise a DiskFullError."""
    try:
        attempt = _count_attempt(log)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"# attempt {attempt}\n")
        kept_paths = kept_folders(job)
        variables = {"PYTHONPATH": python_path()}

        def start(job: Job, folder: Path) -> Outcome:
            if isolate is not None and isolate.kind == CONTAINER:
                return _run_contained(
                    job, folder, kept_paths, log=log, timeout_s=timeout_s, isolate=isolate
                )
            return _run_process(job, folder, kept_paths, hidden, log=log, timeout_s=timeout_s)

        judge = judge_of(sys.executable, variables)
        judge_trial = partial(
            run_and_judge, job, start, judge, variables, log=log, timeout_s=timeout_s
        )
        if fault is None:
            judgement = judge_trial()
        else:
            assert isinstance(job, EngineTrial), "other jobs have no cluster"
            judgement = run_with_fault(fault, job.engine, judge_trial)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _disk_full(log, str(error)) from error
    row = judgement.columns
    row["kept_folders"] = json.dumps([str(path) for path in kept_paths]) if kept_paths else None
    if judgement.lacked_space:
        raise _disk_full(log, str(row["reason"]))
    if row.get("status") == schema.CRASH and _NO_SPACE in str(row["reason"]):
        # The trial's temporary files are gone, so a disk that is still full would stop other trials as well.
        full = full_disk(log.parent, Path(tempfile.gettempdir()))
        if full is not None:
            raise _disk_full(log, f"{full}: {row['reason']}")
        row["reason"] = f"{row['reason']}; {HAVE_ROOM}"
    return TrialResult(columns=row, attempt=attempt)


def run_and_judge(
    job: Job,
    start: Callable[[Job, Path], Outcome],
    judge: Judge,
    variables: Mapping[str, str],
    *,
    log: Path,
    timeout_s: float,
    on_phase: Callable[[str], None] | None = None,
) -> Judgement:
    """Run a job in a fresh folder with `start`, and judge it.

    `variables` are added to the lab's environment for the judge. `on_phase` gets each phase of the trial.
    """
    begin = log.stat().st_size
    environ = environment() | dict(variables)
    with trial_folder() as folder:
        if isinstance(job, EngineTrial):
            rows = judge.expected_rows(job, log=log, environ=environ)
            job = msgspec.structs.replace(job, expected_outputs=rows)
        with Witness(folder, on_phase) as witness:
            outcome = start(job, folder)
        judgement: Judgement | None = None
        if (folder / EVIDENCE).exists() and not outcome.timed_out:
            judgement = judge.judge(job, folder, witness.phase_reports, log=log, environ=environ)
    columns = None if judgement is None else judgement.columns
    row = classify(
        outcome, columns, _read_from(log, begin), phase=witness.phase, timeout_s=timeout_s
    )
    if outcome.timed_out and isinstance(job, EngineTrial):  # the limits of other jobs are fixed
        row["reason"] = f"{row['reason']}; raise timeout_s (--timeout)"
    if folder.exists():
        warning = f"the lab could not remove the temporary folder {folder}; remove it by hand"
        row["warnings"] = json.dumps([*json.loads(str(row.get("warnings") or "[]")), warning])
    return Judgement(columns=row, lacked_space=judgement is not None and judgement.lacked_space)


def run_with_fault(fault: Fault, engine: str, judge_trial: Callable[..., Judgement]) -> Judgement:
    """Run and judge a trial with a fault in its timed part, and add the time of recovery.

    If the timed part ended before the fault, the trial is invalid.
    """
    with FaultInjector(fault, engine) as injector:

        def on_phase(name: str) -> None:
            if name == "run":
                injector.begin()
            elif name == "ran":
                injector.end()

        judgement = judge_trial(on_phase=on_phase)
    columns = {**judgement.columns, "recovery_s": injector.recovery_s}
    if injector.caused_s is None and columns.get("status") in schema.VERIFIED:
        duration_s = columns.get("duration_s") or 0.0
        columns |= {
            "status": schema.INVALID,
            "reason": f"the timed part ended after {duration_s:.1f} s, before the fault at "
            f"{fault.after_s:g} s; give a longer input or an earlier fault",
            "throughput_eps": None,
            "outputs_eps": None,
        }
    return msgspec.structs.replace(judgement, columns=columns)


def _count_attempt(log: Path) -> int:
    """Record an attempt at a job next to its log, and return its number, from 1."""
    with (log.parent / ATTEMPTS).open("a+", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{log.name}\n")
        file.seek(0)
        return file.read().splitlines().count(log.name)


def kept_folders(job: Job) -> tuple[Path, ...]:
    """Return the folders that a job's engine keeps between trials."""
    if isinstance(job, OracleJob | BrokerJob):
        return ()
    try:
        engine = find_engine(job.engine)
    except EngineError:
        return ()  # the trial reports the error
    return tuple(engine.kept_folders()) if isinstance(engine, KeepsFolders) else ()


def _run_process(
    job: Job,
    folder: Path,
    kept_paths: Sequence[Path],
    hidden: Sequence[Path],
    *,
    log: Path,
    timeout_s: float,
) -> Outcome:
    """Run a job in a process, confined to its own folders and those that the engine keeps."""
    cache, variables = cache_folder(), make_temporary_folders(folder)
    access: FileAccess | None = None
    if not isinstance(job, OracleJob):  # an oracle's job writes the stored answers
        if cache not in kept_paths:
            variables["LAB_CACHE"] = variables["XDG_CACHE_HOME"]
        access = FileAccess(
            writable=(folder, *(path for path in kept_paths if path.is_dir())),
            hidden=(*hidden, *answers_of(job)),
            own_memory=not any(path.is_relative_to("/dev/shm") for path in (folder, *_files(job))),
        )
    write_job(_spawned_now(job), folder / SPEC)
    return run_isolated(
        [sys.executable, "-m", "streamlab.lab.trial", str(folder / SPEC), str(folder)],
        log=log,
        timeout_s=timeout_s,
        env={"LAB_CACHE": str(cache), "PYTHONPATH": python_path(), **variables},
        folder=folder,
        access=access,
        on_death=deletion(job),
    )


def make_temporary_folders(folder: Path) -> dict[str, str]:
    """Create folders for temporary files in a trial's folder; return environment variables that name them.

    The folders are removed with the trial's folder, even if the trial is killed.
    Java needs a separate variable, because Java ignores TMPDIR.
    """
    temporary, cache = folder / "tmp", folder / "cache"
    temporary.mkdir()
    cache.mkdir()
    java = filter(None, [os.environ.get("JAVA_TOOL_OPTIONS"), f'"-Djava.io.tmpdir={temporary}"'])
    return {
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(cache),
        "JAVA_TOOL_OPTIONS": " ".join(java),
    }


def _files(job: Job) -> tuple[Path, ...]:
    """Return the files that a job reads, the lab's source, and the folder in which the job starts."""
    if isinstance(job, CeilingJob | BrokerJob):
        return (SOURCE, start_folder())
    dataset = job.dataset.complete()
    files = [path for stream in dataset.streams for path in stream.paths]
    files += [file.path for file in dataset.dictionaries]
    return (SOURCE, start_folder(), *(path.absolute() for path in files))


def answers_of(job: Job) -> tuple[Path, ...]:
    """Return the folder of stored answers for a trial's input; empty if the input has none."""
    answers = answers_folder(job.dataset) if isinstance(job, EngineTrial) else None
    return () if answers is None else (answers,)


def _run_contained(
    job: Job,
    folder: Path,
    kept_paths: Sequence[Path],
    *,
    log: Path,
    timeout_s: float,
    isolate: Isolation,
) -> Outcome:
    """Run a job in a container, with the paths of the container."""
    container_job = translate(job, folder)
    write_job(_spawned_now(container_job.job), folder / SPEC)
    return run_contained(
        ["python", "-m", "streamlab.lab.trial", str(FOLDER / SPEC), str(FOLDER)],
        isolation=isolate,
        mounts=container_job.mounts,
        log=log,
        timeout_s=timeout_s,
        folder=folder,
        hidden=container_job.hidden,
        keeps_cache=cache_folder() in kept_paths,
    )


def _spawned_now(job: Job) -> Job:
    """Return the job with the present time as the start of its process, if it is a trial."""
    if isinstance(job, EngineTrial):
        return msgspec.structs.replace(job, spawned_ns=time.monotonic_ns())
    return job


def classify(
    outcome: Outcome, result: Result | None, log: str, *, phase: str | None, timeout_s: float
) -> Result:
    """Return the columns of a trial, with its status.

    `result` has the columns from the trial's evidence; None without evidence. `log` is the trial's output,
    and `phase` is the last phase that the trial reported.
    """
    row: Result = dict(result or {})
    phase = phase or "start"
    if outcome.timed_out:
        row["status"] = schema.TIMEOUT
        row["reason"] = f"stopped after {timeout_s:g} s in phase {phase}"
    elif result is None:
        row["status"] = schema.CRASH
        row["reason"] = (
            f"the process {_describe_end(outcome.returncode)} in phase {phase}: {_quote_end(log)}"
        )
    if row.get("status") == schema.CRASH and _lacked_memory(outcome, str(row["reason"])):
        row["status"] = schema.OOM
    if outcome.leftovers:
        leftovers = f"left processes behind: {'; '.join(outcome.leftovers)}"
        row["reason"] = f"{row['reason']}; {leftovers}" if row.get("reason") else leftovers
    if row.get("reason"):
        row["reason"] = str(row["reason"])[:LONGEST_REASON]
    if row.get("status") not in schema.VERIFIED:
        row["throughput_eps"] = row["outputs_eps"] = None
    row["returncode"] = outcome.returncode
    return row


def _lacked_memory(outcome: Outcome, reason: str) -> bool:
    """Return whether lack of memory caused a crash, by the kernel's count or the trial's last lines.

    The kernel's count covers the whole machine. It is therefore used only if SIGKILL ended this trial, or
    a child of the trial according to the trial's report.
    """
    was_killed = outcome.oom_kills > 0 and (
        outcome.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL) or "SIGKILL" in reason
    )
    return was_killed or "OutOfMemoryError" in reason or "std::bad_alloc" in reason


def full_disk(*folders: Path) -> str | None:
    """Return a text about the first folder whose disk is full; None if all have room."""
    for folder in folders:
        disk = os.statvfs(folder)
        free_bytes = disk.f_bavail * disk.f_frsize
        if free_bytes < LEAST_FREE_BYTES:
            return f"the disk of {folder} has {free_bytes >> 10:,} KiB left"
        # `f_files` is 0 if the file system does not count files.
        if disk.f_files > 0 and disk.f_favail == 0:
            return f"the disk of {folder} can hold no more files"
    return None


def _disk_full(log: Path, message: str) -> DiskFullError:
    return DiskFullError(
        f"no space left on a disk that a trial writes to ({log}): {message}; the trial is not "
        "recorded: free space in the run directory and TMPDIR, then lab run --resume RUN_DIR"
    )


def _describe_end(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with code {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def _quote_end(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    quote = [line for line in lines if not line.startswith("# ")][-LAST_LINES:]
    return " | ".join(quote) if quote else "it wrote nothing"


def _read_from(path: Path, begin: int = 0) -> str:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read().decode("utf-8", errors="replace")
