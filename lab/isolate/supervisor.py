"""Runs a command so that all it starts can be found and ended, also when the lab is killed.

    python -I -S supervisor.py TIMEOUT_S FOLDER N WORD*N COMMAND...

It is a *subreaper* (prctl(2), PR_SET_CHILD_SUBREAPER): a process below it that loses its parent
becomes its child, whatever session, environment or name it has given itself. So what the command
has started is what is below this process, and nothing of it is left when wait(2) says that there
are no children.

stdin     a pipe whose other end only the lab holds. A byte: end the command now. The end of the
          file without one: the lab is gone, so FOLDER is removed too, and then the N WORDs are run.
stdout    a pipe to the lab: when nothing is left, the exit code (minus the signal), `late` or
          nothing, and what outlived the command, divided by NULs. The command never sees it.
stderr    the log: the command's standard output and error.

Without a COMMAND it only waits for the lab. Imports little: it starts with every trial.

Loses: what another process starts on request (a container engine, systemd, cron). If it is killed
itself, the command is killed with it (PR_SET_PDEATHSIG), and what that has started becomes the
lab's (`streamlab.lab.isolate.process`); if the lab is killed at the same moment, that goes on.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

# Long enough for a process that is already ending, short beside any trial.
SETTLE_S = 1.0
# Between two rounds of killing; a process that ends cuts it short.
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 1.0
_MOST_TOLD = 100
_LONGEST_POLL_S = 86_400.0  # poll(2) counts milliseconds in an int

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 1, 36, 37
_LIBC = ctypes.CDLL(None, use_errno=True)


def set_subreaper(on: bool) -> bool:
    """Let this process inherit what below it loses its parent, or not; return what it was.

    Raises:
        OSError: the kernel is older than Linux 3.4.
    """
    before = ctypes.c_int(0)
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(on))
    return bool(before.value)


def _prctl(option: int, argument: object) -> None:
    none = ctypes.c_ulong(0)
    if _LIBC.prctl(ctypes.c_int(option), argument, none, none, none) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"prctl {option}: {os.strerror(error)}")


def below(root: int, parents: Mapping[int, int]) -> list[int]:
    """Return the processes below one, given each process's parent."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found, queue = [], [root]
    while queue:
        new = children.pop(queue.pop(), [])
        found += new
        queue += new
    return found


def parents() -> Iterator[tuple[int, int]]:
    """Yield every process that can be seen and its parent, the newest numbers first.

    The kernel's own lists of children (`/proc/*/task/*/children`) are not compiled into every
    kernel, and may be short while processes end.
    """
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for pid in sorted(pids, reverse=True):
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if fields:  # else it has ended
            yield pid, int(fields[1])


def kill_below(root: int, spare: frozenset[int] = frozenset()) -> None:
    """Kill the processes below one, but for these children of it and what is below them.

    One round: what is started meanwhile is left, for the next.
    """
    seen = {}
    for pid, parent in parents():
        if pid in spare:
            continue
        seen[pid] = parent
        if parent == root:
            # At once: one that forks and ends all the time has another number a moment later.
            _kill(pid)
    for pid in below(root, seen):
        _kill(pid)


def described(pids: Sequence[int]) -> list[str]:
    """Return number and command line of those that run."""
    lines = []
    for pid in pids:
        words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").strip()
        if words:  # else it has ended, perhaps unwaited for
            lines.append(f"{pid}: {words[:120].decode(errors='replace')}")
    return lines


def _kill(pid: int) -> None:
    with suppress(OSError):  # it may have ended
        os.kill(pid, signal.SIGKILL)


def _read(path: str) -> bytes:
    """Return the first 4 KiB of a file of a process, nothing when that has ended."""
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
    """The command and all that it has started.

    `status` is that of wait(2) for the command itself; None while it runs. `said` is what came from
    the lab: None for nothing yet, empty when the lab is gone.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.status: int | None = None
        self.said: bytes | None = None
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        # Who ends the lab ends this through its pipe. Handlers, unlike SIG_IGN, are not inherited.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, frame: None)
        self._first = _start(command)

    def is_there(self) -> bool:
        """Wait for what has ended; return whether anything is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._first:
                    self.status = status
        except ChildProcessError:
            return False

    def pause(self, seconds: float, *, listening: bool = True) -> None:
        """Wait until a process ends, the lab says something, or the time is up."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if listening:
            poll.register(0, select.POLLIN)
        for file, _ in poll.poll(1000 * min(max(0.0, seconds), _LONGEST_POLL_S)):
            if file == self._woken:
                os.read(self._woken, 4096)
            else:
                self.said = os.read(0, 1)

    def outliving(self) -> list[str]:
        """Return the command lines of what is there after a moment of grace."""
        deadline = time.monotonic() + SETTLE_S
        while self.is_there() and self.said is None:
            if (left_s := deadline - time.monotonic()) <= 0:
                return described(below(os.getpid(), dict(parents())))
            self.pause(left_s)
        return []

    def end(self) -> None:
        """Kill everything; returns when nothing is left."""
        pause_s = _SHORTEST_PAUSE_S
        while self.is_there():
            kill_below(os.getpid())
            self.pause(pause_s, listening=False)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _start(command: Sequence[str]) -> int:
    """Start the command in a session of its own and return its number."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        if os.getppid() == supervisor:  # else it was killed before that call
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
    """Run the command, kill what is left of it, and report; return whether the lab is there."""
    deadline = time.monotonic() + timeout_s
    tree = _Tree(command)
    while tree.is_there() and tree.status is None and tree.said is None:
        if (left_s := deadline - time.monotonic()) <= 0:
            break
        tree.pause(left_s)
    timed_out = tree.status is None and tree.said is None
    left = [] if tree.status is None else tree.outliving()
    tree.end()
    assert tree.status is not None  # everything has been waited for
    code = os.waitstatus_to_exitcode(tree.status)
    fields = [str(code), "late" if timed_out else "", *left[:_MOST_TOLD]]
    if len(left) > _MOST_TOLD:
        fields.append(f"and {len(left) - _MOST_TOLD} more")
    try:
        os.write(1, "\0".join(fields).encode(errors="replace"))
        os.close(1)
    except BrokenPipeError:
        return False
    # FOLDER is the lab's again when it says so.
    return bool(tree.said or os.read(0, 1))


def main(arguments: Sequence[str]) -> None:
    """Run the command, or wait for the lab; clear up behind a lab that is gone."""
    timeout_s, folder, count, *words = arguments
    on_death, command = words[: int(count)], words[int(count) :]
    set_subreaper(True)
    if _supervise(command, float(timeout_s)) if command else os.read(0, 1):
        return
    # Only now: they are slow to import.
    import shutil
    import subprocess

    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    if on_death:
        subprocess.run(on_death, stdin=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main(sys.argv[1:])
