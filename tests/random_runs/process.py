"""Runs cases in a process of their own: a crash or a hang there is told like a wrong answer."""

import faulthandler
import importlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from tests.random_runs.case import Case, Family

RIGHT, REFUSED = "right", "refused"
WRONG, FAILED, CRASHED, HUNG = "wrong answer", "exception", "crash", "hang"
START_S = 300.0
"""For the imports of a new process, on a machine that does much else."""
GONE_S = 20.0
"""After a signal, for a process to write down its stacks and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a case: one of the words above, why, and how long it took."""

    kind: str
    text: str = ""
    seconds: float = 0.0

    @property
    def bad(self) -> bool:
        """Whether it is a finding."""
        return self.kind not in (RIGHT, REFUSED)


def families_at(reference: str) -> Mapping[str, Family]:
    """Return the families that `module:attribute` names, on both sides of the pipe."""
    module, _, attribute = reference.partition(":")
    found: Mapping[str, Family] = getattr(importlib.import_module(module), attribute)
    return found


class Runner:
    """Hands cases to a process, one after the other; a new one follows a crash or a hang.

    After `bound_s` without an answer, a case hangs; on a machine that is busy with other things
    after longer, in proportion to its load average for each core.
    """

    def __init__(self, families: str, bound_s: float) -> None:
        self._families = families
        self._bound_s = bound_s
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None
        self._log = tempfile.NamedTemporaryFile("w+", errors="replace")  # noqa: SIM115  # till close

    def run(self, case: Case) -> Outcome:
        """Do one case."""
        pipe = self._started()
        begin = time.monotonic()
        kind = CRASHED
        try:
            pipe.send(case)
            if pipe.poll(self._bound_s * _crowd()):
                outcome: Outcome = pipe.recv()
                return outcome
            kind = HUNG
        except (EOFError, OSError):
            pass
        text = self._end(hung=kind == HUNG)
        return Outcome(kind=kind, text=text, seconds=time.monotonic() - begin)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._forget()
        self._log.close()

    def _started(self) -> Connection:
        if self._pipe is not None:
            return self._pipe
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._log.seek(0)
        self._log.truncate()
        self._process = context.Process(
            target=_serve, args=(theirs, self._families, self._log.name)
        )
        self._process.start()
        theirs.close()
        if not self._pipe.poll(START_S):
            raise RuntimeError(f"a process for random runs did not start: {self._end(hung=True)}")
        self._pipe.recv()
        return self._pipe

    def _end(self, *, hung: bool) -> str:
        """End the process, which died or hangs, and return what it left to say."""
        process = self._process
        assert process is not None and process.pid is not None
        said = []
        if hung:
            said.append(_stacks(process.pid))
            os.kill(process.pid, signal.SIGABRT)  # its fault handler writes down Python's stacks
        process.join(GONE_S)
        if process.exitcode is None:
            process.kill()
            process.join()
        elif not hung and process.exitcode < 0:
            said.append(f"ended by {signal.Signals(-process.exitcode).name}")
        elif not hung:
            said.append(f"ended with code {process.exitcode}")
        self._log.seek(0)
        said.append(self._log.read()[-20_000:])
        self._forget()
        return "\n".join(part for part in said if part)

    def _forget(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        self._pipe = self._process = None


def _crowd() -> float:
    """Return how many threads want each core, at least 1."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def _stacks(pid: int) -> str:
    """Return what each thread waits for, and native stacks where gdb is there."""
    lines = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda path: int(path.name)):
        state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        waits = (task / "wchan").read_text() or "-"
        lines.append(f"thread {task.name}: state {state}, waits in {waits}")
    if shutil.which("gdb") is not None:
        command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines.append(done.stdout)
    return "\n".join(lines)


def _serve(pipe: Connection, families: str, log: str) -> None:
    """Answer cases until the pipe is closed: the process's whole life."""
    errors = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(errors, 2)
    os.dup2(errors, 1)
    faulthandler.enable()
    known = families_at(families)
    pipe.send(None)
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        begin = time.monotonic()
        kind, text = _judged(known[case.family], case)
        pipe.send(Outcome(kind=kind, text=text, seconds=time.monotonic() - begin))


def _judged(family: Family, case: Case) -> tuple[str, str]:
    try:
        reason = family.check(case)
    except AssertionError as error:
        return WRONG, str(error) or traceback.format_exc()
    except Exception:
        return FAILED, traceback.format_exc()
    return (RIGHT, "") if reason is None else (REFUSED, reason)
