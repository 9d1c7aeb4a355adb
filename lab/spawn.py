"""Runs one trial in a fresh process and turns whatever happened into one row."""

import json
import os
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.host import SOURCE
from lab.isolate.process import Outcome, run_isolated
from lab.trial_spec import TrialSpec, write_spec
from results import schema

Result = dict[str, Any]
# As much of a log as helps in a table; the whole log is kept.
LAST_LINES = 5
LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a trial ended: the columns that it gives, and how often it had been begun before."""

    result: Result
    attempt: int


def run_trial(spec: TrialSpec, *, log: Path, timeout_s: float) -> Ended:
    """Run one trial; its output goes to `log`, after a line that counts the attempts.

    No process of the trial is alive afterwards, even when this is left by an exception.
    """
    attempt = 1 + (_text(log).count("# attempt ") if log.exists() else 0)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"# attempt {attempt}\n")
    begin = log.stat().st_size
    with tempfile.TemporaryDirectory(prefix="lab-spec-") as folder:
        spec_path, result_path = Path(folder) / "spec.json", Path(folder) / "result.json"
        write_spec(replace(spec, spawned_ns=time.monotonic_ns()), spec_path)
        outcome = run_isolated(
            [sys.executable, "-m", "lab.trial", str(spec_path), str(result_path)],
            log=log,
            timeout_s=timeout_s,
            env={"PYTHONPATH": _python_path()},
        )
        result: Result | None = None
        if result_path.exists():
            result = json.loads(result_path.read_text(encoding="utf-8"))
    return Ended(
        result=classify(outcome, result, _text(log, begin), timeout_s=timeout_s), attempt=attempt
    )


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
    """Return whether a crash was for lack of memory: the kernel killed, or a runtime said so."""
    return outcome.oom_kills > 0 or "OutOfMemoryError" in reason or "std::bad_alloc" in reason


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
