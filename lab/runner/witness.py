"""Records a trial's phases from outside, with the lab's clock and the kernel's CPU times.

The trial's own readings come from the engine's process, which could falsify these readings.
This thread takes independent readings: kernel timestamps of the trial's messages, and CPU times of its whole process
tree, including orphans.
"""

import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

from streamlab.lab.judge.lab_readings import PhaseReport
from streamlab.lab.measure.tree import descendants
from streamlab.lab.measure.usage import usage_of
from streamlab.lab.trial.report import ANSWER, CLOCK, PHASES, open_socket

_SO_TIMESTAMPNS = 35
"""From <asm-generic/socket.h>, because Python's module lacks this constant. The stamp is a `struct timespec`."""
_TIMESPEC = struct.Struct("@ll")
_CREDENTIALS = struct.Struct("@iii")  # struct ucred: process, user, group
_LONGEST_MESSAGE = 64
"""Bytes to receive of a message; names of phases and stamps are shorter."""


class Witness:
    """A thread that listens to one trial; use as a context manager."""

    def __init__(self, folder: Path, on_phase: Callable[[str], None] | None = None) -> None:
        """Listen in the trial's folder; `on_phase` gets each phase before the trial continues."""
        self._on_phase = on_phase
        self._phases: list[PhaseReport] = []
        self._stamps: list[PhaseReport] = []
        self._listener = open_socket(folder, PHASES, socket.SOCK_SEQPACKET, listen=True)
        self._listener.listen(1)
        # Read only at the next phase: until then the kernel keeps the messages, and this thread does not wake up.
        self._clock = open_socket(folder, CLOCK, socket.SOCK_DGRAM, listen=True)
        for name in (PHASES, CLOCK):
            (folder / name).chmod(0o666)  # a container may run as another user
        self._clock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._clock.setblocking(False)
        self._boot_ns = _boot_ns()
        self._end_reader, self._end_writer = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="lab-witness", daemon=True)

    @property
    def phase_reports(self) -> list[PhaseReport]:
        """Return the reports so far; after the block, all reports."""
        return [*self._phases, *self._stamps]

    @property
    def phase(self) -> str | None:
        """Return the last reported phase; None before the first."""
        return self._phases[-1].name if self._phases else None

    def __enter__(self) -> "Witness":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.write(self._end_writer, b".")
        self._thread.join()
        self._read_stamps()
        os.close(self._end_reader)
        os.close(self._end_writer)
        self._listener.close()
        self._clock.close()

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._end_reader, selectors.EVENT_READ)
            selector.register(self._listener, selectors.EVENT_READ)
            trial: socket.socket | None = None
            pid = 0
            while True:
                ready_files = [key.fileobj for key, _ in selector.select()]
                if self._listener in ready_files:  # the trial's process connects first
                    trial, _ = self._listener.accept()
                    pid = _peer_pid(trial)
                    selector.unregister(self._listener)
                    selector.register(trial, selectors.EVENT_READ)
                elif trial is not None and trial in ready_files:
                    if not self._record_phase(trial, pid):
                        selector.unregister(trial)
                        trial.close()
                        trial = None
                elif self._end_reader in ready_files:
                    break
            if trial is not None:
                trial.close()

    def _record_phase(self, trial: socket.socket, pid: int) -> bool:
        """Record one phase and reply; return False at the end of the connection."""
        try:
            message = trial.recv(_LONGEST_MESSAGE)
        except OSError:
            return False
        if not message:
            return False
        self._read_stamps()
        at_ns = time.monotonic_ns()
        name, cpu_s = message.decode("ascii", "replace"), _cpu_s(pid)
        read_ns = time.monotonic_ns()
        self._phases.append(PhaseReport(name=name, at_ns=at_ns, cpu_s=cpu_s, read_ns=read_ns))
        if self._on_phase is not None:
            self._on_phase(name)
        with suppress(OSError):  # the trial has ended
            trial.send(ANSWER)
        return True

    def _read_stamps(self) -> None:
        """Read the timestamped messages since the last phase."""
        with suppress(BlockingIOError):
            while True:
                message, extra, _, _ = self._clock.recvmsg(
                    _LONGEST_MESSAGE, socket.CMSG_SPACE(_TIMESPEC.size)
                )
                stamps = [data for _, kind, data in extra if kind == _SO_TIMESTAMPNS]
                for seconds, nanoseconds in map(_TIMESPEC.unpack, stamps):
                    at_ns = seconds * 1_000_000_000 + nanoseconds - self._boot_ns
                    name = message.decode("ascii", "replace")
                    self._stamps.append(PhaseReport(name=name, at_ns=at_ns))


def _boot_ns() -> int:
    """Return the offset of the wall clock to the monotonic clock, accurate to some microseconds.

    Uses the fastest of several readings, because this thread may lose its core during a reading.
    """
    readings = []
    for _ in range(10):
        before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after_ns - before_ns, wall_ns - before_ns))
    return min(readings)[1]


def _peer_pid(trial: socket.socket) -> int:
    """Return the process id of a trial; 0 if it is not visible from here."""
    pid, _, _ = _CREDENTIALS.unpack(
        trial.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return int(pid)


def _cpu_s(pid: int) -> float | None:
    """Return the CPU time of all processes of a trial, in seconds; None if they are not visible.

    The tree starts at the trial's parent, which inherits orphans: the supervisor, or the container's first process.
    """
    if not pid:
        return None
    try:
        root = psutil.Process(psutil.Process(pid).ppid())
        return usage_of([root, *descendants(root.pid)]).cpu_s
    except psutil.Error:
        return None
