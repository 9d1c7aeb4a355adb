"""What the ordered-pipeline runtime costs per record: native operators that do next to nothing.

A trial is a fresh process of `ordered_bench`, which checks that all records come out in order. The
ways to run take turns within a repetition, so that a busy moment meets all of them. The median is
shown with the lowest and the highest; on a machine that others use, believe the CPU time.

    python -m benchmarks.pipelines

It builds its program first, with the environment's own cmake.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.program import FOLDER, build_program

PROGRAM = FOLDER / "ordered_bench"
TIMEOUT_S = 300.0


def trial(
    program: Path, kinds: str, workers: int, batch: int, records: int, options: Sequence[str]
) -> tuple[float, float, float]:
    """Run one process; `kinds` has a letter for each operator: l, p (partitioned) or f (stateful).

    Returns:
        Nanoseconds per input record: wall time, CPU time of all threads, time of the scheduler.

    Raises:
        subprocess.CalledProcessError: records were lost or out of order, or the options are wrong.
    """
    command = [str(program), kinds, str(workers), str(batch), str(records), *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
    wall_ns, cpu_ns, scheduler_ns = map(float, done.stdout.split())
    return wall_ns, cpu_ns, scheduler_ns


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--kinds", nargs="+", default=["l", "lll", "p", "f"])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64])
    parser.add_argument("options", nargs="*", help="NAME=VALUE, see ordered_bench.cc")
    given = parser.parse_args(arguments)
    build_program(given.program)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians, ns per input record")
    seen: dict[tuple[str, int, int], list[tuple[float, float, float]]] = defaultdict(list)
    ways = [(k, b, w) for k in given.kinds for b in given.batch for w in given.workers]
    for _ in range(given.repetitions):
        for kinds, batch, workers in ways:
            seen[kinds, batch, workers].append(
                trial(given.program, kinds, workers, batch, given.records, given.options)
            )
    for (kinds, batch, workers), trials in seen.items():
        walls = sorted(wall for wall, _, _ in trials)
        cpu = statistics.median(cpu for _, cpu, _ in trials)
        scheduler = statistics.median(spent for _, _, spent in trials)
        print(
            f"{kinds:5} batch {batch:4}, {workers} workers: {statistics.median(walls):7.1f} "
            f"({walls[0]:.1f} to {walls[-1]:.1f}), {cpu:7.1f} of CPU, {scheduler:5.2f} scheduler"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
