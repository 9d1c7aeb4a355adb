"""Runs one trial in a fresh process or container and turns whatever happened into one row."""

import errno
import json
import os
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from lab.isolate.errors import DiskFullError
from lab.isolate.isolation import CONTAINER, Isolation
from lab.isolate.process import Outcome, run_isolated
from lab.parent.host import SOURCE
from lab.parent.trial_folder import trial_folder
from lab.trial.spec import LACKED_SPACE, EngineTrial, Job, write_job
from results import schema

Result = dict[str, Any]
# As much of a log as helps in a table; the whole log is kept.
LAST_LINES = 5
LONGEST_REASON = 2000
SPEC, RESULT = "spec.json", "result.json"
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


def run_trial(job: Job, *, log: Path, timeout_s: float, isolate: Isolation | None = None) -> Ended:
    """Run one trial; its output goes to `log`, after a line that counts the attempts.

    No process or container of the trial is there afterwards, and none of its temporary files, even
    when this is left by an exception or this process is killed.

    Args:
        job: the trial (or what serves one), with this machine's paths.
        log: appended to.
        timeout_s: it is stopped after so long.
        isolate: where it runs; None: in a process. A container wants `lab.isolate.check` first.

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
            in_container = isolate is not None and isolate.kind == CONTAINER
            run = _run_contained if in_container else _run_process
            outcome = run(job, folder, log=log, timeout_s=timeout_s, isolate=isolate or Isolation())
            result = _result(folder)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _disk_full(log, str(error)) from error
    said = _text(log, begin)
    lacked_space = result is not None and bool(result.pop(LACKED_SPACE, False))
    row = classify(outcome, result, said, timeout_s=timeout_s)
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


def _run_process(
    job: Job, folder: Path, *, log: Path, timeout_s: float, isolate: Isolation
) -> Outcome:
    scratch = folder / "tmp"
    scratch.mkdir()
    write_job(_spawned_now(job), folder / SPEC)
    return run_isolated(
        [sys.executable, "-m", "lab.trial", str(folder / SPEC), str(folder / RESULT)],
        log=log,
        timeout_s=timeout_s,
        # A trial that is killed leaves its temporary files; here they go with the folder.
        env={"PYTHONPATH": _python_path(), "TMPDIR": str(scratch)},
        folder=folder,
    )


def _run_contained(
    job: Job, folder: Path, *, log: Path, timeout_s: float, isolate: Isolation
) -> Outcome:
    from lab.isolate.container import run_contained
    from lab.parent.inside import FOLDER, collect, translate

    inside = translate(job, folder)
    write_job(_spawned_now(inside.job), folder / SPEC)
    outcome = run_contained(
        ["python", "-m", "lab.trial", str(FOLDER / SPEC), str(FOLDER / RESULT)],
        isolation=isolate,
        mounts=inside.mounts,
        log=log,
        timeout_s=timeout_s,
        folder=folder,
    )
    collect(inside.outputs)
    return outcome


def _spawned_now(job: Job) -> Job:
    if isinstance(job, EngineTrial):
        return msgspec.structs.replace(job, spawned_ns=time.monotonic_ns())
    return job


def _result(folder: Path) -> Result | None:
    path = folder / RESULT
    if not path.exists():
        return None
    result: Result = json.loads(path.read_text(encoding="utf-8"))
    return result


def classify(outcome: Outcome, result: Result | None, log: str, *, timeout_s: float) -> Result:
    """Return the columns of a trial from how its process ended, what it wrote, and its log."""
    row: Result = dict(result or {})
    phase = (re.findall(r"^# phase: (\w+)$", log, re.MULTILINE) or ["start"])[-1]
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


def _python_path() -> str:
    """Let the trial import what this process imports, wherever it was started."""
    known = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(filter(None, [str(SOURCE), known]))
