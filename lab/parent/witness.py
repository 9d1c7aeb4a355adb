"""Notes when a trial reports its phases, by the lab's own clock and the kernel's accounts.

A trial's own readings are taken in the process in which the engine runs, which can change them.
This thread of the lab takes others: times that the kernel stamps on the trial's messages, and CPU
times of the whole tree of its processes, orphans included.
"""

import os
import selectors
import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

from lab.judge.accounts import Sighting
from lab.measure.tree import descendants
from lab.measure.usage import used_by
from lab.trial.report import ANSWER, BEGIN, END, SOCKET

_SO_TIMESTAMPNS = 35
"""From <asm-generic/socket.h>; Python's module lacks it. The stamp is a `struct timespec`."""
_TIMESPEC = struct.Struct("@ll")
_CREDENTIALS = struct.Struct("@iii")  # struct ucred: process, user, group
_LONGEST_MESSAGE = 64


class Witness:
    """A thread that listens to one trial; use as a context manager."""

    def __init__(self, folder: Path) -> None:
        """Listen in the trial's folder."""
        self.sightings: list[Sighting] = []
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._listening.bind(f"/proc/self/fd/{directory}/{SOCKET}")
        finally:
            os.close(directory)
        (folder / SOCKET).chmod(0o666)  # a container's user may be another
        self._listening.listen(1)
        self._ended, self._end = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="lab-witness", daemon=True)

    @property
    def phase(self) -> str | None:
        """The last phase that was reported; None: none was."""
        names = [found.name for found in self.sightings]
        return next((name for name in reversed(names) if name not in (_BEGIN, _END)), None)

    def __enter__(self) -> "Witness":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.write(self._end, b".")
        self._thread.join()
        os.close(self._ended)
        os.close(self._end)
        self._listening.close()

    def _listen(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._ended, selectors.EVENT_READ)
            ready.register(self._listening, selectors.EVENT_READ)
            trial: socket.socket | None = None
            root = 0
            while True:
                found = [key.fileobj for key, _ in ready.select()]
                if self._listening in found:  # the first process to connect is the trial's
                    trial, _ = self._listening.accept()
                    trial.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
                    root = _parent_of_peer(trial)
                    ready.unregister(self._listening)
                    ready.register(trial, selectors.EVENT_READ)
                elif trial is not None and trial in found:
                    if not self._note(trial, root):
                        ready.unregister(trial)
                        trial.close()
                        trial = None
                elif self._ended in found:
                    break
            if trial is not None:
                trial.close()

    def _note(self, trial: socket.socket, root: int) -> bool:
        """Note one message and answer it; return whether there was one."""
        try:
            message, extra, _, _ = trial.recvmsg(
                _LONGEST_MESSAGE, socket.CMSG_SPACE(_TIMESPEC.size)
            )
        except OSError:
            return False
        if not message:
            return False
        now_ns = time.monotonic_ns()
        passed_ns = time.time_ns() - _stamp_ns(extra, default=time.time_ns())
        self.sightings.append(
            Sighting(
                name=message.decode("ascii", "replace"),
                at_ns=now_ns - max(0, passed_ns),
                cpu_s=None if message in (BEGIN, END) else _cpu_s(root),
            )
        )
        if message not in (BEGIN, END):
            with suppress(OSError):  # the trial has ended
                trial.send(ANSWER)
        return True


_BEGIN, _END = BEGIN.decode(), END.decode()


def _stamp_ns(extra: list[tuple[int, int, bytes]], *, default: int) -> int:
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack(data[: _TIMESPEC.size])
            return int(seconds * 1_000_000_000 + nanoseconds)
    return default


def _parent_of_peer(trial: socket.socket) -> int:
    """Return the process below which a trial and its orphans are; 0: it cannot be seen from here.

    That is its supervisor, or the first process of its container.
    """
    pid, _, _ = _CREDENTIALS.unpack(
        trial.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    try:
        return psutil.Process(pid).ppid() if pid else 0
    except psutil.Error:
        return 0


def _cpu_s(root: int) -> float | None:
    if not root:
        return None
    try:
        return used_by([psutil.Process(root), *descendants(root)]).cpu_s
    except psutil.Error:
        return None
