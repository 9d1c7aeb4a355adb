"""Reports the phases of a trial to the lab, which measures times by its own clock.

The lab listens on two sockets in the trial's folder (`streamlab.lab.runner.witness`).
The trial waits for a reply to each report of a phase, so that the lab can read CPU times before the trial continues.
Stamps around the timed part go to the second socket: the kernel records their times, and no thread wakes to read them.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path

PHASES, CLOCK = "phases.sock", "clock.sock"
BEFORE_BEGIN, AFTER_BEGIN = "before begin", "after begin"
BEFORE_END, AFTER_END = "before end", "after end"
"""Names of the stamps around the two readings of the trial's clock."""
ANSWER = b"."
"""The lab's reply to the report of a phase."""


class Reporter:
    """Client of the lab's sockets; without sockets, it only prints phases."""

    def __init__(self, folder: Path | None = None) -> None:
        """Connect to the lab if it listens in the folder."""
        self._phases = _connect(folder, PHASES, socket.SOCK_SEQPACKET)
        self._clock = _connect(folder, CLOCK, socket.SOCK_DGRAM)

    def phase(self, name: str) -> None:
        """Report the start of a phase in the log and to the lab, and wait for the lab's reply."""
        with suppress(OSError, ValueError):  # the engine may have closed standard output
            print(f"# phase: {name}", flush=True)
        if self._phases is not None:
            with suppress(OSError):  # if the engine closed the socket, the lab misses the report
                self._phases.send(name.encode())
                self._phases.recv(1)

    def stamp(self, name: str) -> None:
        """Send a message that the kernel timestamps; takes some microseconds."""
        if self._clock is not None:
            with suppress(OSError):
                self._clock.send(name.encode(), socket.MSG_DONTWAIT)


def _connect(folder: Path | None, name: str, kind: socket.SocketKind) -> socket.socket | None:
    if folder is None or not (folder / name).exists():
        return None
    with suppress(OSError):
        return open_socket(folder, name, kind, listen=False)
    return None


def open_socket(folder: Path, name: str, kind: socket.SocketKind, *, listen: bool) -> socket.socket:
    """Bind or connect a socket through the folder's descriptor, because its path may have at most 107 bytes."""
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    new_socket = socket.socket(socket.AF_UNIX, kind)
    try:
        (new_socket.bind if listen else new_socket.connect)(f"/proc/self/fd/{directory}/{name}")
    except OSError:
        new_socket.close()
        raise
    finally:
        os.close(directory)
    return new_socket
