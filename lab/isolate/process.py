"""Runs one command as a process tree that can be ended whole.

The child leads a session of its own, so a Ctrl-C in the terminal reaches the lab only. Every
process that descends from it inherits a mark in its environment: that finds grandchildren which
have moved to other sessions (a Java virtual machine, a daemon) or have lost their parents. A guard
kills them all when the lab itself is killed.
"""

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from lab.isolate.guard import MARK, guarded, marked_pids

# Long enough for a process that is already ending, short beside any trial.
SETTLE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a process ended.

    Attributes:
        returncode: negative when killed by that signal.
        timed_out: it was killed because its time was up.
        oom_kills: processes on this machine that the kernel killed for lack of memory meanwhile.
        left: command lines of descendants that outlived it and were killed then.
    """

    returncode: int
    timed_out: bool
    oom_kills: int
    left: tuple[str, ...]


def run_isolated(
    command: Sequence[str],
    *,
    log: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Outcome:
    """Run a command to its end, its output appended to `log`; nothing of it is alive afterwards.

    That also holds when this call is left by an exception (Ctrl-C), and when this process is
    killed: then `folder`, if given, is removed as well.
    """
    mark = uuid.uuid4().hex
    with guarded(mark, folder):
        return _run(command, mark, log=log, timeout_s=timeout_s, env=env or {})


def _run(
    command: Sequence[str], mark: str, *, log: Path, timeout_s: float, env: Mapping[str, str]
) -> Outcome:
    oom_before = oom_kills()
    timed_out = False
    left: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    try:
        # An interrupt may come when the process is there, but not yet its Popen.
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **env, MARK: mark},
            )
        try:
            process.wait(timeout=timeout_s)
            left = _outliving(mark)
        except subprocess.TimeoutExpired:
            timed_out = True
    finally:
        _kill_all(mark, process)
    assert process is not None  # else an exception has left
    return Outcome(
        returncode=process.returncode,
        timed_out=timed_out,
        oom_kills=oom_kills() - oom_before,
        left=left,
    )


def marked(mark: str) -> list[psutil.Process]:
    """Return all live processes that carry the mark."""
    found = []
    for pid in marked_pids(mark):
        try:
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue  # It has ended.
    return found


def _outliving(mark: str) -> tuple[str, ...]:
    """Return the command lines of processes that are still there after a moment of grace."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        alive = marked(mark)
        if not alive or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    lines = []
    for process in alive:
        try:
            lines.append(f"{process.pid}: {' '.join(process.cmdline())[:120]}")
        except psutil.Error:
            continue
    return tuple(lines)


def _kill_all(mark: str, process: subprocess.Popen[bytes] | None) -> None:
    """Kill every marked process, until there is none: one may fork while others are killed."""
    while alive := marked(mark):
        for victim in alive:
            try:
                victim.kill()
            except psutil.Error:
                continue
        # Waiting for the child itself is left to `process`, which would miss its exit status.
        own = None if process is None else process.pid
        psutil.wait_procs([p for p in alive if p.pid != own], timeout=SETTLE_S)
        if process is not None:
            process.poll()
    if process is None:
        return
    if process.poll() is None:
        # It had not reached exec yet, and so carried no mark.
        os.kill(process.pid, signal.SIGKILL)
    process.wait()


def oom_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory since boot."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
