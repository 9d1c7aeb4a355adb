"""Runs a command, and ends all processes that come from it, even if the lab is killed.

    python -I -S supervisor.py TIMEOUT_S FOLDER N WORD*N COMMAND...

The supervisor is a *subreaper* (prctl(2), PR_SET_CHILD_SUBREAPER): an orphan below the supervisor becomes its child,
in any session and with any name.
So all processes of the command are below the supervisor. Once the supervisor has no children, no process is left.

stdin     a pipe from the lab. A byte means: end the command now. If the pipe closes without a byte, the lab has died.
          The supervisor then also removes FOLDER, and runs the command of the N WORDs.
stdout    a pipe to the lab. At the end the supervisor writes fields separated by NULs: the exit code (or minus the
          signal), `late` or nothing, and the processes that outlived the command. The command does not get this pipe.
stderr    the log: the command's standard output and error.

Without a COMMAND, the supervisor only waits for the lab.
A supervisor starts with every trial, so this module imports little.

Limits: processes that other processes start on request (a container engine, systemd, cron) are not found.
If the supervisor is killed, the command dies with it (PR_SET_PDEATHSIG), and the lab inherits the command's
descendants (`streamlab.lab.isolate.process`).
If the lab is killed at the same moment, these descendants survive.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

SETTLE_S = 1.0
"""Seconds that other processes have to end after the command: enough for a process that has begun to end."""
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 1.0
"""Pause between two rounds of killing; the end of a process shortens the pause."""
_MAX_REPORTED = 100
"""Limit of processes to describe in the report."""
_LONGEST_POLL_S = 86_400.0
"""A day; poll(2) counts milliseconds in an int, which overflows after 24 days."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 1, 36, 37
_LIBC = ctypes.CDLL(None, use_errno=True)


def set_subreaper(on: bool) -> bool:
    """Set whether this process inherits orphaned descendants; return the previous setting.

    Raises:
        OSError: the kernel is older than Linux 3.4.
    """
    previous = ctypes.c_int(0)
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(previous))
    _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(on))
    return bool(previous.value)


def _prctl(option: int, argument: object) -> None:
    zero = ctypes.c_ulong(0)
    if _LIBC.prctl(ctypes.c_int(option), argument, zero, zero, zero) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"prctl {option}: {os.strerror(error)}")


def below(root: int, parents: Mapping[int, int]) -> list[int]:
    """Return the descendants of a process, from a map of processes to parents."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    descendants, queue = [], [root]
    while queue:
        found_children = children.pop(queue.pop(), [])
        descendants += found_children
        queue += found_children
    return descendants


def parents() -> Iterator[tuple[int, int]]:
    """Yield every visible process and its parent, the highest ids first.

    The kernel's lists of children (`/proc/*/task/*/children`) are optional, and may be incomplete while processes end.
    """
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for pid in sorted(pids, reverse=True):
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if fields:  # else the process has ended
            yield pid, int(fields[1])


def kill_below(root: int, spare: frozenset[int] = frozenset()) -> None:
    """Kill the descendants of a process, except the children in `spare` and their descendants.

    This is one round; processes that start during the round survive until the next round.
    """
    parent_of = {}
    for pid, parent in parents():
        if pid in spare:
            continue
        parent_of[pid] = parent
        if parent == root:
            # Kill at once, because a process that keeps forking and ending changes its id.
            _kill(pid)
    for pid in below(root, parent_of):
        _kill(pid)


def describe(pids: Sequence[int]) -> list[str]:
    """Return the id and command line of each running process."""
    lines = []
    for pid in pids:
        words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").strip()
        if words:  # else the process has ended
            lines.append(f"{pid}: {words[:120].decode(errors='replace')}")
    return lines


def _kill(pid: int) -> None:
    with suppress(OSError):  # the process may have ended
        os.kill(pid, signal.SIGKILL)


def _read(path: str) -> bytes:
    """Return the first 4 KiB of a process's file; empty if the process has ended."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 4096)
    except OSError:
        return b""
    finally:
        os.close(file)


class _Tree:
    """The command and all processes that come from it.

    Attributes:
        status: status of wait(2) for the command itself; None while the command runs.
        message: byte from the lab; None before a byte arrives, empty if the lab has died.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.status: int | None = None
        self.message: bytes | None = None
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        # Ignore signals: the lab ends this process through its pipe.
        # Children do not inherit handlers, but would inherit SIG_IGN.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, frame: None)
        self._command_pid = _start(command)

    def reap(self) -> bool:
        """Reap ended processes, and return whether any process is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._command_pid:
                    self.status = status
        except ChildProcessError:
            return False

    def pause(self, seconds: float, *, listening: bool = True) -> None:
        """Wait until a process ends, the lab sends a byte or dies, or the time is up."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if listening:
            poll.register(0, select.POLLIN)
        for file, _ in poll.poll(1000 * min(max(0.0, seconds), _LONGEST_POLL_S)):
            if file == self._woken:
                os.read(self._woken, 4096)
            else:
                self.message = os.read(0, 1)

    def survivors(self) -> list[str]:
        """Return the command lines of processes that are still alive after SETTLE_S."""
        deadline = time.monotonic() + SETTLE_S
        while self.reap() and self.message is None:
            if (left_s := deadline - time.monotonic()) <= 0:
                return describe(below(os.getpid(), dict(parents())))
            self.pause(left_s)
        return []

    def end(self) -> None:
        """Kill all processes, and return when none is left."""
        pause_s = _SHORTEST_PAUSE_S
        while self.reap():
            kill_below(os.getpid())
            self.pause(pause_s, listening=False)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _start(command: Sequence[str]) -> int:
    """Start the command in its own session and return its process id."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        if os.getppid() == supervisor:  # else the supervisor died before the call
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
                signal.signal(number, signal.SIG_DFL)
            os.execvp(command[0], list(command))
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def _supervise(command: Sequence[str], timeout_s: float) -> bool:
    """Run the command, kill its remaining processes, and report; return whether the lab is still alive."""
    deadline = time.monotonic() + timeout_s
    tree = _Tree(command)
    while tree.reap() and tree.status is None and tree.message is None:
        if (left_s := deadline - time.monotonic()) <= 0:
            break
        tree.pause(left_s)
    timed_out = tree.status is None and tree.message is None
    survivors = [] if tree.status is None else tree.survivors()
    tree.end()
    assert tree.status is not None  # all children were reaped
    code = os.waitstatus_to_exitcode(tree.status)
    fields = [str(code), "late" if timed_out else "", *survivors[:_MAX_REPORTED]]
    if len(survivors) > _MAX_REPORTED:
        fields.append(f"and {len(survivors) - _MAX_REPORTED} more")
    try:
        os.write(1, "\0".join(fields).encode(errors="replace"))
        os.close(1)
    except BrokenPipeError:
        return False
    # Wait for the lab's byte: if the lab dies before sending it, this process must remove FOLDER.
    return bool(tree.message or os.read(0, 1))


def main(arguments: Sequence[str]) -> None:
    """Run the command, or wait for the lab; clean up after a lab that died."""
    timeout_s, folder, count, *words = arguments
    on_death, command = words[: int(count)], words[int(count) :]
    set_subreaper(True)
    if _supervise(command, float(timeout_s)) if command else os.read(0, 1):
        return
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    if on_death:
        subprocess.run(on_death, stdin=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main(sys.argv[1:])
