"""Defines the interface to the machine: files below a root, programs on PATH, the environment.

Probes use the machine only through this class, so tests can pass a fake one.
"""

import math
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamlab.engines.multicore import _core

PROGRAM_TIMEOUT_S = 1.5
"""Time limit of a program, so that `lab doctor` takes less than two seconds."""


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _run(command: Sequence[str]) -> str | None:
    try:
        process = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PROGRAM_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return (process.stdout + process.stderr).strip()


def _connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(0.3)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


MAX_PARTNERS = 8
"""The distance from the first core is measured for at most this many cores, evenly spread."""
_DISTANCE_LIMIT_NS = 20_000_000
"""Time limit of one measurement, which needs both cores at once."""


def _core_to_core() -> float | None:
    """Measure the distance from the first usable core to other cores; takes a millisecond per core."""
    first_core, *other_cores = sorted(os.sched_getaffinity(0))
    step = -(-len(other_cores) // MAX_PARTNERS) or 1
    try:
        # Step from the end, so that the last core is included.
        distances_ns = [
            _core.core_to_core_ns(first_core, other_core, _DISTANCE_LIMIT_NS)
            for other_core in other_cores[::-1][::step]
        ]
    except RuntimeError:  # this process lost a core meanwhile
        return None
    return max((ns if ns >= 0 else math.inf for ns in distances_ns), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Access to a machine, by default to this machine.

    Attributes:
        root: folder with `/proc`, `/sys`, `/run` and so on.
        environ: environment variables.
        affinity: returns the number of cores that this process may use.
        read: returns a file's text; raises OSError.
        which: returns the path of a program on PATH, or None.
        run: returns a program's output (both streams), or None if it does not start or end in time.
        connects: returns whether a process listens on a Unix socket.
        pause: sleeps for some seconds.
        core_to_core: returns the transfer time of a cache line from the first usable core to the furthest, in
            ns; None with one core, infinity after a timeout.
        uid: effective user id of this process.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    affinity: Callable[[], int] = lambda: len(os.sched_getaffinity(0))
    read: Callable[[Path], str] = _read
    which: Callable[[str], str | None] = shutil.which
    run: Callable[[Sequence[str]], str | None] = _run
    connects: Callable[[Path], bool] = _connects
    pause: Callable[[float], None] = time.sleep
    core_to_core: Callable[[], float | None] = _core_to_core
    uid: int = field(default_factory=os.geteuid)

    def path(self, absolute: str) -> Path:
        """Return the path below `root` for an absolute path of the machine."""
        return self.root / absolute.lstrip("/")

    def text(self, absolute: str) -> str | None:
        """Return the stripped content of a file; None if it cannot be read."""
        try:
            return self.read(self.path(absolute)).strip()
        except OSError:
            return None

    def glob(self, absolute: str) -> list[str]:
        """Return the absolute paths that match a pattern, sorted."""
        paths = self.root.glob(absolute.lstrip("/"))
        return sorted("/" + path.relative_to(self.root).as_posix() for path in paths)

    def first_program(self, *names: str) -> str | None:
        """Return the path of the first of these programs on PATH, or None."""
        return next((path for name in names if (path := self.which(name)) is not None), None)
