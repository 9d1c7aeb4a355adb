"""Moves files into the folders that Spark watches, each at its planned time: the source of an open loop.

`python -I -S file_source.py PLAN` runs in a separate process, so that Spark and the driver cannot delay it. Python is
isolated, because this folder's `operator.py` would hide the standard module.
PLAN is JSON with two lists: `planned_ns`, the time of each drop (files that are moved together, see load_files.py), and
`moves`, its [from, to] pairs. The process reads the start time, in ns of the monotonic clock, from standard input. It
prints the times of the drops, in ns after the start, as JSON. It never waits for a reader of the files, and ends when
its parent ends.
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
"""Length of the busy loop that ends each wait, because a sleep may end late by this much."""
LOWEST_PRIORITY = 1
"""The lowest real-time priority, already above every ordinary process."""
LONGEST_SLEEP_S = 1.0
"""The process checks after each sleep whether its parent lives, so it outlives its parent by at most this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTimes:
    """The times of drops.

    With both cores busy, the latest of about 60 drops was 10 to 25 ms late in an ordinary process. With real-time
    priority it was less than 0.2 ms late in ten runs, and 5.5 ms in one. The process sleeps between drops, so its
    priority does not slow other work.

    Attributes:
        times_ns: when each drop was done, after the start.
        real_time: whether the process had real-time priority.
    """

    times_ns: tuple[int, ...]
    real_time: bool


class Dropper:
    """Controls a dropper process, which waits for `start`."""

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
        """Start the load; `start_ns` is its start on the monotonic clock."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start_ns}\n")
        self._process.stdin.flush()

    def has_failed(self) -> bool:
        """Return whether the process has ended with an error."""
        return self._process.poll() not in (None, 0)

    def result(self) -> DropTimes:
        """Wait for the last drop; return the times of all drops."""
        assert self._process.stdout is not None
        result = json.loads(self._process.stdout.readline() or '{"times_ns": [], "real_time": 0}')
        self._process.wait()
        return DropTimes(times_ns=tuple(result["times_ns"]), real_time=bool(result["real_time"]))

    def close(self) -> None:
        """Kill the process. May be called twice."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


def main(plan: str) -> None:
    """Run the drops of a plan at their times."""
    task = json.loads(Path(plan).read_text(encoding="utf-8"))
    parent = os.getppid()
    real_time = False
    with suppress(OSError):  # This needs a privilege. Without it, a busy machine delays drops.
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
            os.rename(source, target)  # noqa: PTH104 (the fastest call)
        times.append(time.monotonic_ns() - start)
    print(json.dumps({"times_ns": times, "real_time": real_time}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
