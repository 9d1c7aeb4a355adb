"""The one seam to the machine: files below a root, programs on PATH, the environment.

Probes see the machine only through this value, so tests hand them a fake tree.
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

# The whole check is to stay under two seconds; no single program may hold it up longer than this.
PROGRAM_TIMEOUT_S = 1.5


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _run(command: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(
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
    return (done.stdout + done.stderr).strip()


def _connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(0.3)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _affinity() -> int:
    # Not every system has affinity masks (macOS has none).
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


MOST_PARTNERS = 8
"""Cores, spread over all others, to which the distance from the first is measured."""
_DISTANCE_LIMIT_NS = 20_000_000


def _core_to_core() -> float | None:
    """Measure from the first usable core to others; a millisecond each on an idle machine."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    from streamlab.engines.multicore import _core

    first, *others = sorted(os.sched_getaffinity(0))
    step = -(-len(others) // MOST_PARTNERS) or 1
    try:
        # The last of each step: the first would leave out the far end.
        found = [
            _core.core_to_core_ns(first, other, _DISTANCE_LIMIT_NS)
            for other in others[::-1][::step]
        ]
    except RuntimeError:  # a core that was taken away meanwhile
        return None
    return max((ns if ns >= 0 else math.inf for ns in found), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine as probes see it; the default is this one.

    Attributes:
        root: where `/proc`, `/sys`, `/run` and so on are looked for.
        environ: the environment variables.
        affinity: returns the number of cores that this process may use.
        read: returns a file's text; raises OSError, PermissionError among them.
        which: returns the path of a program on PATH, or None.
        run: returns what a program prints (both streams), or None when it does not start or does
            not end in time.
        connects: tells whether something answers on a Unix socket.
        pause: waits that many seconds.
        core_to_core: returns how many nanoseconds a cache line takes from the first usable core to
            the furthest of the others; None with one core, infinity when not had in time.
        uid: the effective user id; 0 may read and do more.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    affinity: Callable[[], int] = _affinity
    read: Callable[[Path], str] = _read
    which: Callable[[str], str | None] = shutil.which
    run: Callable[[Sequence[str]], str | None] = _run
    connects: Callable[[Path], bool] = _connects
    pause: Callable[[float], None] = time.sleep
    core_to_core: Callable[[], float | None] = _core_to_core
    uid: int = field(default_factory=os.geteuid)

    def path(self, absolute: str) -> Path:
        """Return where the absolute path lies on this machine."""
        return self.root / absolute.lstrip("/")

    def text(self, absolute: str) -> str | None:
        """Return the stripped content of a file, or None when it is absent or may not be read."""
        try:
            return self.read(self.path(absolute)).strip()
        except OSError:
            return None

    def glob(self, absolute: str) -> list[str]:
        """Return the absolute paths that match a pattern, sorted."""
        found = self.root.glob(absolute.lstrip("/"))
        return sorted("/" + path.relative_to(self.root).as_posix() for path in found)

    def first_program(self, *names: str) -> str | None:
        """Return the path of the first of these programs that is on PATH, or None."""
        return next((path for name in names if (path := self.which(name)) is not None), None)
