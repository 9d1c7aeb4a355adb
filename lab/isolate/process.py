"""Runs one command and ends its whole process tree afterwards.

A supervisor process (`streamlab.lab.isolate.supervisor`) starts the command and ends all processes that come from it:
after the command, after its time limit, at the lab's request, and after the death of the lab.
If the supervisor is killed, its descendants become children of this process, which ends them.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from streamlab.lab.errors import IsolationError
from streamlab.lab.host.git import environment
from streamlab.lab.interrupt import LOOK_S, check, defer_signals
from streamlab.lab.isolate import confine, supervisor
from streamlab.workloads.default_folders import start_folder

PATIENCE_S = 30.0
"""Time limit for a supervisor to end its processes; processes that live longer survive even SIGKILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccess:
    """File access of a command; see `streamlab.lab.isolate.confine`.

    Attributes:
        writable: existing folders in which the command may write; all other folders are read-only.
        hidden: folders that look empty; missing folders are ignored.
        own_memory: whether /dev/shm is fresh; otherwise the files in /dev/shm stay visible and writable.
    """

    writable: tuple[Path, ...]
    hidden: tuple[Path, ...] = ()
    own_memory: bool = True


@cache
def why_unconfined() -> str | None:
    """Return why this system cannot confine processes; None if it can.

    Confinement needs Linux 5.12, and root or user namespaces.
    """
    try:
        probe = subprocess.run(
            [sys.executable, "-I", "-S", confine.__file__, "--probe"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=True,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return probe.stdout.strip() or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of a command.

    Attributes:
        returncode: exit code, or minus the signal that killed the command.
        timed_out: whether the command exceeded its time limit.
        oom_kills: number of processes on this machine that the kernel killed for lack of memory while the command ran.
        leftovers: command lines of descendants that outlived the command and were killed.
    """

    returncode: int
    timed_out: bool
    oom_kills: int
    leftovers: tuple[str, ...] = ()


def run_isolated(
    command: Sequence[str],
    *,
    log: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    access: FileAccess | None = None,
    on_death: Sequence[str] = (),
) -> Outcome:
    """Run a command, append its output to `log`, and end all processes that come from it.

    The processes also end after an exception (Ctrl-C), and if this process is killed. In the latter case, the
    supervisor also removes `folder` and runs the command `on_death`.
    Start no other child process during the call: if the supervisor is killed, that child ends as well.
    `env` adds to `streamlab.lab.host.git.environment`. `access` has no effect if the system cannot confine processes.

    Raises:
        IsolationError: a process cannot be ended.
        KeyboardInterrupt: a signal came (`streamlab.lab.interrupt`).
    """
    oom_before = oom_kills()
    if access is not None and why_unconfined() is None:
        places = {
            "writable": [str(path.absolute()) for path in access.writable],
            "hidden": [str(path.absolute()) for path in access.hidden],
            "own_memory": access.own_memory,
        }
        command = [sys.executable, "-I", "-S", confine.__file__, json.dumps(places), *command]
    with log.open("ab") as output:
        with supervise(
            log=output,
            env=env,
            folder=folder,
            on_death=on_death,
            command=command,
            timeout_s=timeout_s,
        ) as report:
            content = _read_to_end(report, timeout_s + supervisor.SETTLE_S + PATIENCE_S)
        if not content:
            output.write(b"the supervisor ended without a report; all its processes were killed\n")
    code, late_mark, *leftovers = (
        content.decode().split("\0") if content else (str(-signal.SIGKILL), "")
    )
    return Outcome(
        returncode=int(code),
        timed_out=bool(late_mark),
        oom_kills=oom_kills() - oom_before,
        leftovers=tuple(leftovers),
    )


def last_lines(log: Path, count: int) -> list[str]:
    """Return the last lines of a command's log that are not blank."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()][-count:]


@contextmanager
def supervise(
    *,
    log: BinaryIO | None = None,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    on_death: Sequence[str] = (),
    command: Sequence[str] = (),
    timeout_s: float = 0.0,
) -> Iterator[int]:
    """Run a supervisor during the block, then end the supervisor and its processes; yield its report's descriptor.

    If this process is killed in the block, the supervisor removes the folder and runs `on_death`.
    In the block, signals raise exceptions only in `streamlab.lab.interrupt.check`.
    """
    words = [str(timeout_s), str(folder or ""), str(len(on_death)), *on_death, *command]
    check()
    with defer_signals(), ExitStack() as cleanup:
        children_before = _children()
        cleanup.callback(supervisor.set_subreaper, supervisor.set_subreaper(True))
        (command_end, stop_pipe), (report, report_end) = os.pipe(), os.pipe()
        cleanup.callback(os.close, report)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *words],
                stdin=command_end,
                stdout=report_end,
                stderr=subprocess.DEVNULL if log is None else log,
                # Use a new session, so that a signal to the lab's process group does not kill the supervisor.
                start_new_session=True,
                env=environment() | dict(env or {}),
                cwd=start_folder(),
            )
        except BaseException:
            os.close(stop_pipe)
            raise
        finally:
            os.close(command_end)
            os.close(report_end)
        try:
            yield report
        finally:
            _dismiss(process, stop_pipe, children_before)


def _dismiss(
    process: subprocess.Popen[bytes], stop_pipe: int, children_before: frozenset[int]
) -> None:
    """Let a supervisor end its processes and itself; if the supervisor fails, end the processes here."""
    try:
        os.write(stop_pipe, b".")
    except BrokenPipeError:
        pass  # The supervisor was killed.
    finally:
        os.close(stop_pipe)
    try:
        process.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        try:
            process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise IsolationError(
                f"the supervisor {process.pid} of a trial cannot be ended, not even by SIGKILL"
            ) from None
    if process.returncode != 0:
        _end_orphans(children_before)


def _end_orphans(children_before: frozenset[int]) -> None:
    """Kill this process's children that are not in `children_before`, with their descendants."""
    deadline = time.monotonic() + PATIENCE_S
    while orphans := _children() - children_before:
        supervisor.kill_below(os.getpid(), spare=children_before)
        for pid in orphans:
            os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            lines = "; ".join(supervisor.describe(sorted(orphans))) or "without a command line"
            raise IsolationError(
                f"processes of a trial cannot be ended, not even by SIGKILL: {lines}; they wait "
                "for the kernel: check for a disk or network that does not answer, then resume"
            )
        time.sleep(0.01)


def _children() -> frozenset[int]:
    own_pid = os.getpid()
    return frozenset(pid for pid, parent in supervisor.parents() if parent == own_pid)


def _read_to_end(report: int, patience_s: float) -> bytes:
    """Return a supervisor's report; empty if the supervisor was killed, or exceeded its time."""
    deadline = time.monotonic() + patience_s
    poll = select.poll()
    poll.register(report, select.POLLIN)
    content = b""
    while True:
        check()
        # Read a timely report even after the deadline: the lab may have been stopped (Ctrl-Z).
        is_late = time.monotonic() >= deadline
        if poll.poll(0 if is_late else 1000 * LOOK_S):
            part = os.read(report, 1 << 16)
            if not part:
                break
            content += part
        elif is_late:
            break
    return content


def oom_kills() -> int:
    """Return the number of processes that the kernel killed for lack of memory since boot."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
