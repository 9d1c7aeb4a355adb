"""Reports the phases of a trial to the lab, which takes the time by its own clock.

The lab listens on a socket in the trial's folder (`lab.parent.witness`). It answers the report of a
phase, so that it can read CPU times before the trial goes on. Begin and end of the timed part are
messages of their own, which the kernel stamps when they are sent.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path

SOCKET = "lab.sock"
BEGIN, END = b"begin", b"end"
"""The timed part. Other messages are names of phases."""
ANSWER = b"."


class Reporter:
    """The trial's end of the socket; without one, phases are only printed."""

    def __init__(self, folder: Path | None = None) -> None:
        """Connect to the lab if it listens in the folder."""
        self._lab: socket.socket | None = None
        if folder is None or not (folder / SOCKET).exists():
            return
        self._lab = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:  # a path of a socket has at most 107 bytes; this one is short
            self._lab.connect(f"/proc/self/fd/{directory}/{SOCKET}")
        except OSError:
            self._lab = None
        finally:
            os.close(directory)

    def phase(self, name: str) -> None:
        """Report that a phase begins, in the log and to the lab, and wait until it has noted it."""
        with suppress(OSError, ValueError):  # the engine may have closed standard output
            print(f"# phase: {name}", flush=True)
        self._send(name.encode(), wait=True)

    def begin(self) -> None:
        """Report that the timed part begins now."""
        self._send(BEGIN, wait=False)

    def end(self) -> None:
        """Report that the timed part has just ended."""
        self._send(END, wait=False)

    def _send(self, message: bytes, *, wait: bool) -> None:
        if self._lab is None:
            return
        with suppress(OSError):  # the engine may have closed it; the lab misses the report then
            self._lab.send(message)
            if wait:
                self._lab.recv(1)
