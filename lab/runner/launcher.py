"""Runs one trial in a fresh process or container and turns whatever happened into one row."""

import errno
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import KeepsFolders
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.host.git import environment
from streamlab.lab.host.installation import SOURCE, python_path
from streamlab.lab.isolate.errors import DiskFullError
from streamlab.lab.isolate.isolation import CONTAINER, Isolation
from streamlab.lab.isolate.process import FileAccess, Outcome, run_isolated
from streamlab.lab.judge.client import LACKED_SPACE, judge_of
from streamlab.lab.runner.trial_folder import trial_folder
from streamlab.lab.runner.witness import Witness
from streamlab.lab.trial.evidence import EVIDENCE
from streamlab.lab.trial.spec import CeilingJob, EngineTrial, Job, OracleJob, write_job
from streamlab.results import schema
from streamlab.workloads.datasets.oracle_cache import answers_folder
from streamlab.workloads.default_folders import cache_folder, here

Result = dict[str, Any]
# As much of a log as helps in a table; the whole log is kept.
LAST_LINES = 5
LONGEST_REASON = 2000
SPEC = "spec.json"
# How Python, Java and Arrow say that a disk is full. Anybody can say so; the disk decides.
_NO_SPACE = os.strerror(errno.ENOSPC)
LEAST_FREE_BYTES = 16 << 20
"""Log, series and record of a trial take about so much: with less, the next one fails, too."""
HAVE_ROOM = (
    "the disks of run directory and TMPDIR have room now, so that only this engine lacked space"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a trial ended: the columns that it gives, and how often it had been begun before."""

    result: Result
    attempt: int


def run_trial(
    job: Job,
    *,
    log: Path,
    timeout_s: float,
    isolate: Isolation | None = None,
    hidden: Sequence[Path] = (),
) -> Ended:
    """Run one trial; its output goes to `log`, after a line that counts the attempts.

    No process or container of the trial is there afterwards, and none of its temporary files, even
    when this is left by an exception or this process is killed.

    Args:
        job: the trial (or what serves one), with this machine's paths.
        log: appended to.
        timeout_s: it is stopped after so long.
        isolate: where it runs; None: in a process. A container wants `streamlab.lab.isolate.check` first.
        hidden: further folders that a trial in a process must not see; one never sees the kept
            answers for its input.

    Raises:
        DiskFullError: the lab had no space for what it writes, or a disk that it needs is full yet
            after a trial that failed for that; nothing is known of the engine.
        IsolationError: the container engine failed.
    """
    try:
        attempt = 1 + (_text(log).count("# attempt ") if log.exists() else 0)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"# attempt {attempt}\n")
        begin = log.stat().st_size
        with trial_folder() as folder:
            kept = kept_folders(job)
            variables = {"PYTHONPATH": python_path()}
            judge, environ = judge_of(sys.executable, variables), environment() | variables
            if isinstance(job, EngineTrial):
                size = judge.expected_rows(job, log=log, environ=environ)
                job = msgspec.structs.replace(job, expected_outputs=size)
            with Witness(folder) as witness:
                if isolate is not None and isolate.kind == CONTAINER:
                    outcome = _run_contained(
                        job, folder, kept, log=log, timeout_s=timeout_s, isolate=isolate
                    )
                else:
                    outcome = _run_process(job, folder, kept, hidden, log=log, timeout_s=timeout_s)
            result: Result | None = None
            if (folder / EVIDENCE).exists() and not outcome.timed_out:
                result = judge.judge(job, folder, witness.sightings, log=log, environ=environ)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _disk_full(log, str(error)) from error
    said = _text(log, begin)
    lacked_space = result is not None and bool(result.pop(LACKED_SPACE, False))
    row = classify(outcome, result, said, phase=witness.phase, timeout_s=timeout_s)
    row["kept_folders"] = json.dumps([str(path) for path in kept]) if kept else None
    if folder.exists():
        left = f"the lab could not remove the temporary folder {folder}; remove it by hand"
        row["warnings"] = json.dumps([*json.loads(row.get("warnings") or "[]"), left])
    if lacked_space:
        raise _disk_full(log, row["reason"])
    if row.get("status") == schema.CRASH and _NO_SPACE in row["reason"]:
        # By now its temporary files are gone: what is still full, others need as well.
        full = full_disk(log.parent, Path(tempfile.gettempdir()))
        if full is not None:
            raise _disk_full(log, f"{full}: {row['reason']}")
        row["reason"] += f"; {HAVE_ROOM}"
    return Ended(result=row, attempt=attempt)


def kept_folders(job: Job) -> tuple[Path, ...]:
    """Return the folders that the engine of a job keeps from trial to trial."""
    if isinstance(job, OracleJob):
        return ()
    try:
        engine = find_engine(job.engine)
    except EngineError:
        return ()  # the trial says why
    return tuple(engine.kept_folders()) if isinstance(engine, KeepsFolders) else ()


def _run_process(
    job: Job,
    folder: Path,
    kept: Sequence[Path],
    hidden: Sequence[Path],
    *,
    log: Path,
    timeout_s: float,
) -> Outcome:
    cache, own = cache_folder(), own_places(folder)
    access: FileAccess | None = None
    if not isinstance(job, OracleJob):  # which writes the kept answers
        own |= {} if cache in kept else {"LAB_CACHE": own["XDG_CACHE_HOME"]}
        access = FileAccess(
            writable=(folder, *(path for path in kept if path.is_dir())),
            hidden=(*hidden, *answers_of(job)),
            own_memory=not any(path.is_relative_to("/dev/shm") for path in (folder, *_files(job))),
        )
    write_job(_spawned_now(job), folder / SPEC)
    return run_isolated(
        [sys.executable, "-m", "streamlab.lab.trial", str(folder / SPEC), str(folder)],
        log=log,
        timeout_s=timeout_s,
        env={"LAB_CACHE": str(cache), "PYTHONPATH": python_path(), **own},
        folder=folder,
        access=access,
    )


def own_places(folder: Path) -> dict[str, str]:
    """Make places for temporary files in a trial's folder; return the variables that name them.

    A trial that is killed leaves its temporary files; these go with the folder. Java does not look
    at TMPDIR.
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
    """Return the files that a job reads, and the folder that it starts in."""
    if isinstance(job, CeilingJob):
        return (SOURCE, here())
    whole = job.dataset.complete()
    files = [stream.path for stream in whole.streams] + [file.path for file in whole.dictionaries]
    return (SOURCE, here(), *(path.absolute() for path in files))


def answers_of(job: Job) -> tuple[Path, ...]:
    """Return the folder with the kept answers for the input of a trial, if there can be one."""
    answers = answers_folder(job.dataset) if isinstance(job, EngineTrial) else None
    return () if answers is None else (answers,)


def _run_contained(
    job: Job,
    folder: Path,
    kept: Sequence[Path],
    *,
    log: Path,
    timeout_s: float,
    isolate: Isolation,
) -> Outcome:
    from streamlab.lab.isolate.container import run_contained
    from streamlab.lab.runner.container_job import FOLDER, translate

    inside = translate(job, folder)
    write_job(_spawned_now(inside.job), folder / SPEC)
    return run_contained(
        ["python", "-m", "streamlab.lab.trial", str(FOLDER / SPEC), str(FOLDER)],
        isolation=isolate,
        mounts=inside.mounts,
        log=log,
        timeout_s=timeout_s,
        folder=folder,
        hidden=inside.hidden,
        keeps_cache=cache_folder() in kept,
    )


def _spawned_now(job: Job) -> Job:
    if isinstance(job, EngineTrial):
        return msgspec.structs.replace(job, spawned_ns=time.monotonic_ns())
    return job


def classify(
    outcome: Outcome, result: Result | None, log: str, *, phase: str | None, timeout_s: float
) -> Result:
    """Return the columns of a trial.

    Args:
        outcome: how its process ended.
        result: columns that its evidence gives; None: it left none.
        log: its output.
        phase: the last one that it reported; None: none.
        timeout_s: its time limit.
    """
    row: Result = dict(result or {})
    phase = phase or "start"
    if outcome.timed_out:
        row["status"] = schema.TIMEOUT
        row["reason"] = f"stopped after {timeout_s:g} s in phase {phase}; raise timeout_s"
    elif result is None:
        row["status"] = schema.CRASH
        row["reason"] = f"the process {_how(outcome.returncode)} in phase {phase}: {_last(log)}"
    if row.get("status") == schema.CRASH and _lacked_memory(outcome, row["reason"]):
        row["status"] = schema.OOM
    if outcome.left:
        found = f"left processes behind: {'; '.join(outcome.left)}"
        row["reason"] = f"{row['reason']}; {found}" if row.get("reason") else found
    if row.get("reason"):
        row["reason"] = row["reason"][:LONGEST_REASON]
    if row.get("status") not in schema.VERIFIED:
        row["throughput_eps"] = row["outputs_eps"] = None
    row["returncode"] = outcome.returncode
    return row


def _lacked_memory(outcome: Outcome, reason: str) -> bool:
    """Return whether a crash was for lack of memory: the kernel killed, or a runtime said so.

    The kernel counts what it killed on the whole machine, and kills by SIGKILL: another process's
    end is not taken for this one's. A trial whose child was killed dies of its own, and its last
    words say of what.
    """
    killed = outcome.oom_kills > 0 and (
        outcome.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL) or "SIGKILL" in reason
    )
    return killed or "OutOfMemoryError" in reason or "std::bad_alloc" in reason


def full_disk(*folders: Path) -> str | None:
    """Return the first of these folders whose disk is full, in words; None: all have room."""
    for folder in folders:
        disk = os.statvfs(folder)
        free = disk.f_bavail * disk.f_frsize
        if free < LEAST_FREE_BYTES:
            return f"the disk of {folder} has {free >> 10:,} KiB left"
        if disk.f_files > 0 and disk.f_favail == 0:  # some file systems do not count files
            return f"the disk of {folder} can hold no more files"
    return None


def _disk_full(log: Path, said: str) -> DiskFullError:
    return DiskFullError(
        f"no space left on a disk that a trial writes to ({log}): {said}; the trial is not "
        "recorded: free some space (run directory, TMPDIR), then lab run --resume RUN_DIR"
    )


def _how(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with code {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def _last(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith("# ")][-LAST_LINES:]
    return " | ".join(kept) if kept else "it wrote nothing"


def _text(path: Path, begin: int = 0) -> str:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read().decode("utf-8", errors="replace")
