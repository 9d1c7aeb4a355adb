"""Drops files into the folders that Spark watches, each when it is planned: the open-loop source.

`python -I -S file_source.py PLAN` is a process of its own, so that neither Spark nor the driver's
interpreter can hold it up (isolated, because this folder's `operator.py` is not Python's). PLAN is
JSON: `planned_ns`, and `moves`, the [from, to] pairs of each drop. The time of the start comes on
standard input, on the monotonic clock, which all processes share. The times of the drops, after the
start, go to standard output as JSON. It never waits for whoever reads the files; it ends when its
parent is gone.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SPIN_NS = 200_000
"""A sleep may end this much late, so the last part before a drop is waited for awake."""
LOWEST_PRIORITY = 1
"""Of real-time processes; already above every ordinary one."""
LONGEST_SLEEP_S = 1.0
"""How long a dropper may outlive its parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """When each drop was done, ns after the start, and whether the process had real-time priority.

    Where Spark and other work kept both cores busy, the latest of some 60 drops was 10 to 25 ms
    late in an ordinary process; with real-time priority it was below 0.2 ms in ten runs of eleven,
    and 5.5 ms in the other. Nothing else suffers: it sleeps between drops.
    """

    times_ns: tuple[int, ...]
    real_time: bool


class Dropper:
    """A dropper process; it waits for `start`."""

    def __init__(self, planned_ns: Sequence[int], moves: object, plan: Path) -> None:
        """Write the plan and start the process."""
        content = json.dumps({"planned_ns": list(planned_ns), "moves": moves})
        plan.write_text(content, encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(plan)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def start(self, start_ns: int) -> None:
        """Let it begin; `start_ns` is when the load starts, on the monotonic clock."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start_ns}\n")
        self._process.stdin.flush()

    def failed(self) -> bool:
        """Whether the process has ended with an error."""
        return self._process.poll() not in (None, 0)

    def result(self) -> Dropped:
        """Wait for the last drop; return when each was done."""
        assert self._process.stdout is not None
        found = json.loads(self._process.stdout.readline() or '{"times_ns": [], "real_time": 0}')
        self._process.wait()
        return Dropped(times_ns=tuple(found["times_ns"]), real_time=bool(found["real_time"]))

    def close(self) -> None:
        """End the process, wherever it is. May be called twice."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


def main(plan: str) -> None:
    """Drop everything at its time."""
    task = json.loads(Path(plan).read_text(encoding="utf-8"))
    parent = os.getppid()
    real_time = False
    with suppress(OSError):  # a right of few users; without it a busy machine holds drops up
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(LOWEST_PRIORITY))
        real_time = True
    print("ready", flush=True)
    line = sys.stdin.readline()
    if not line:
        return
    start = int(line)
    times = []
    for planned, files in zip(task["planned_ns"], task["moves"], strict=True):
        while (left := start + planned - time.monotonic_ns()) > 0:
            if left > SPIN_NS:
                time.sleep(min((left - SPIN_NS) / 1e9, LONGEST_SLEEP_S))
            if os.getppid() != parent:
                return
        for source, target in files:
            os.rename(source, target)  # noqa: PTH104 (nothing between a due time and its file)
        times.append(time.monotonic_ns() - start)
    print(json.dumps({"times_ns": times, "real_time": real_time}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
