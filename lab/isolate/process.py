"""Runs one command as a process tree that is ended whole.

A supervisor process (`streamlab.lab.isolate.supervisor`) starts it, finds everything that comes of it, and
ends that: when the command has ended, when its time is up, when the lab says so, and when the lab
is gone. Should the supervisor be killed, what was below it becomes this process's, which ends it.
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

from streamlab.lab.host.git import environment
from streamlab.lab.interrupt import LOOK_S, check, deferred
from streamlab.lab.isolate import confine, supervisor
from streamlab.lab.isolate.errors import IsolationError
from streamlab.workloads.default_folders import here

PATIENCE_S = 30.0
"""For a supervisor to end what it has; longer is a process that even SIGKILL does not end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccess:
    """What a command can write to and see; see `streamlab.lab.isolate.confine`.

    Attributes:
        writable: folders that it may write to, which exist; it may write nowhere else.
        hidden: folders that are empty to it.
        own_memory: it has a /dev/shm of its own.
    """

    writable: tuple[Path, ...]
    hidden: tuple[Path, ...] = ()
    own_memory: bool = True


@cache
def why_unconfined() -> str | None:
    """Return why this system cannot confine processes; None: it can.

    Without Linux 5.12, or without root where user namespaces are forbidden, it cannot.
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
    access: FileAccess | None = None,
) -> Outcome:
    """Run a command to its end, its output appended to `log`; nothing of it is alive afterwards.

    That also holds when this call is left by an exception (Ctrl-C), and when this process is
    killed: then `folder`, if given, is removed as well. One call at a time: other children that
    this process starts meanwhile would be ended when the supervisor is killed.

    Args:
        command: the command and its arguments.
        log: the file that the command's output is appended to.
        timeout_s: the time after which the command is ended.
        env: variables in addition to those of `streamlab.lab.host.git.environment`.
        folder: a folder to remove if this process is killed.
        access: what it can write to and see, where this system can confine it; None: everything.

    Raises:
        IsolationError: what it has started cannot be ended.
        KeyboardInterrupt: a signal came (`streamlab.lab.interrupt`).
    """
    oom_before = oom_kills()
    if access is not None and why_unconfined() is None:
        places = {
            "writable": [str(path.absolute()) for path in access.writable],
            "hidden": [str(path.absolute()) for path in access.hidden],
            "own_memory": access.own_memory,
        }
        confined = [sys.executable, "-I", "-S", confine.__file__, json.dumps(places)]
        command = [*confined, *command]
    with log.open("ab") as output:
        with _supervised(
            log=output, env=env, folder=folder, command=command, timeout_s=timeout_s
        ) as report:
            said = _read_to_end(report, timeout_s + supervisor.SETTLE_S + PATIENCE_S)
        if not said:
            output.write(b"its supervisor ended without a report, and so all below it was killed\n")
    code, late, *left = said.decode().split("\0") if said else (str(-signal.SIGKILL), "")
    return Outcome(
        returncode=int(code),
        timed_out=bool(late),
        oom_kills=oom_kills() - oom_before,
        left=tuple(left),
    )


@contextmanager
def guarded(
    folder: Path | None, on_death: Sequence[str], env: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Remove a folder and run a command should this process be killed in the block.

    Args:
        folder: left alone otherwise. None: there is none.
        on_death: the command.
        env: variables for it, beside this process's own.
    """
    with _supervised(env=env, folder=folder, on_death=on_death):
        yield


@contextmanager
def _supervised(
    *,
    log: BinaryIO | None = None,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    on_death: Sequence[str] = (),
    command: Sequence[str] = (),
    timeout_s: float = 0.0,
) -> Iterator[int]:
    """Have a supervisor in the block, gone after it with all below it; gives its report to read.

    In the block nothing is raised for a signal, but where `streamlab.lab.interrupt.check` is called.
    """
    words = [str(timeout_s), str(folder or ""), str(len(on_death)), *on_death, *command]
    check()
    with deferred(), ExitStack() as held:
        before = _children()
        held.callback(supervisor.set_subreaper, supervisor.set_subreaper(True))
        (told, tell), (report, reported) = os.pipe(), os.pipe()
        held.callback(os.close, report)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *words],
                stdin=told,
                stdout=reported,
                stderr=subprocess.DEVNULL if log is None else log,
                # A signal for the lab's whole process group must leave it alive.
                start_new_session=True,
                env=environment() | dict(env or {}),
                cwd=here(),
            )
        except BaseException:
            os.close(tell)
            raise
        finally:
            os.close(told)
            os.close(reported)
        try:
            yield report
        finally:
            _dismiss(process, tell, before)


def _dismiss(process: subprocess.Popen[bytes], tell: int, before: frozenset[int]) -> None:
    """Have a supervisor end what is below it and itself, or do both in its place.

    Raises:
        IsolationError: something cannot be ended.
    """
    try:
        os.write(tell, b".")
    except BrokenPipeError:
        pass  # Somebody has killed it.
    finally:
        os.close(tell)
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
        _end_orphans(before)


def _end_orphans(before: frozenset[int]) -> None:
    """Kill the children that this process did not have before, and what is below them."""
    deadline = time.monotonic() + PATIENCE_S
    while orphans := _children() - before:
        supervisor.kill_below(os.getpid(), spare=before)
        for pid in orphans:
            os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            lines = "; ".join(supervisor.described(sorted(orphans))) or "without a command line"
            raise IsolationError(
                f"processes of a trial cannot be ended, not even by SIGKILL: {lines}; they wait "
                "for the kernel (a disk or network that does not answer?): see to that, then resume"
            )
        time.sleep(0.01)


def _children() -> frozenset[int]:
    own = os.getpid()
    return frozenset(pid for pid, parent in supervisor.parents() if parent == own)


def _read_to_end(report: int, patience_s: float) -> bytes:
    """Return what a supervisor reports; nothing when it was killed, or is out of its time.

    Raises:
        KeyboardInterrupt: a signal has come.
    """
    deadline = time.monotonic() + patience_s
    poll = select.poll()
    poll.register(report, select.POLLIN)
    said = b""
    while True:
        check()
        # What was said in time is read, however late: the lab may have been stopped (Ctrl-Z).
        late = time.monotonic() >= deadline
        if poll.poll(0 if late else 1000 * LOOK_S):
            part = os.read(report, 1 << 16)
            if not part:
                break
            said += part
        elif late:
            break
    return said


def oom_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory since boot."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
