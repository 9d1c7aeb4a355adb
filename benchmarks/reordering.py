"""What putting units back into order costs: the reordering buffer alone, against no order at all.

A trial is a fresh process of `reordering_bench`; its exit checks that it sees all units in order.
Schemes take turns within a repetition, so that a busy moment meets all of them. What is shown is
CPU time of all threads, medians with the lowest and the highest; the cost of a scheme is what it
takes beyond `none`, which hands out units and orders nothing. Operators that do nothing make it
dearest: all workers are at the buffer all the time.

    python -m benchmarks.reordering

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

PROGRAM = FOLDER / "reordering_bench"
SCHEMES = ("none", "nonblocking", "lock")
TIMEOUT_S = 300.0


def trial(program: Path, scheme: str, workers: int, units: int, spins: int = 0) -> float:
    """Run one process in which each unit is spun over `spins` times.

    Returns:
        CPU nanoseconds per unit, all threads together.

    Raises:
        subprocess.CalledProcessError: units were lost or out of order, or the options are wrong.
    """
    command = [str(program), scheme, str(workers), str(units), str(spins)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
    return float(done.stdout.split()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--units", type=int, default=4_000_000)
    parser.add_argument("--spins", type=int, default=0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args(arguments)
    build_program(given.program)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians, CPU ns per unit")
    for workers in given.workers:
        seen: dict[str, list[float]] = defaultdict(list)
        for _ in range(given.repetitions):
            for scheme in SCHEMES:
                cpu_ns = trial(given.program, scheme, workers, given.units, given.spins)
                seen[scheme].append(cpu_ns)
        for scheme, values in seen.items():
            median_ns = statistics.median(values)
            print(
                f"{workers} workers, {scheme:11}: {median_ns:7.1f} "
                f"({min(values):.1f} to {max(values):.1f})",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
