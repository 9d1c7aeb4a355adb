"""Reports the phases of a trial to the lab, which takes the time by its own clock.

The lab listens on two sockets in the trial's folder (`streamlab.lab.runner.witness`). It answers the report
of a phase, so that it can read CPU times before the trial goes on. Stamps around the timed part go
to the other one: the kernel notes when they are sent, and no thread wakes to read them.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path

PHASES, CLOCK = "phases.sock", "clock.sock"
BEFORE_BEGIN, AFTER_BEGIN = "before begin", "after begin"
BEFORE_END, AFTER_END = "before end", "after end"
"""Stamps around the two readings of the trial's clock."""
ANSWER = b"."


class Reporter:
    """The trial's end of the sockets; without them, phases are only printed."""

    def __init__(self, folder: Path | None = None) -> None:
        """Connect to the lab if it listens in the folder."""
        self._phases = _connected(folder, PHASES, socket.SOCK_SEQPACKET)
        self._clock = _connected(folder, CLOCK, socket.SOCK_DGRAM)

    def phase(self, name: str) -> None:
        """Report that a phase begins, in the log and to the lab, and wait until it has noted it."""
        with suppress(OSError, ValueError):  # the engine may have closed standard output
            print(f"# phase: {name}", flush=True)
        if self._phases is not None:
            with suppress(OSError):  # the engine may have closed it; the lab misses the report then
                self._phases.send(name.encode())
                self._phases.recv(1)

    def stamp(self, name: str) -> None:
        """Have the kernel note the time under a name; takes some microseconds."""
        if self._clock is not None:
            with suppress(OSError):
                self._clock.send(name.encode(), socket.MSG_DONTWAIT)


def _connected(folder: Path | None, name: str, kind: socket.SocketKind) -> socket.socket | None:
    if folder is None or not (folder / name).exists():
        return None
    found = socket.socket(socket.AF_UNIX, kind)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:  # a path of a socket has at most 107 bytes; this one is short
        found.connect(f"/proc/self/fd/{directory}/{name}")
    except OSError:
        found.close()
        return None
    finally:
        os.close(directory)
    return found
