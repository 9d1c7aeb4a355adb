"""The forms of the ordered log against each other, threaded: rates and CPU time per tuple.

A trial is a fresh process of `ordered_log_bench`, which checks that every reader has had every
tuple once, in order. Forms take turns within a repetition, so that a busy moment meets all of them.
The median is shown with the lowest and the highest; on a machine that others use, believe the CPU
time.

    python -m benchmarks.ordered_log

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

PROGRAM = FOLDER / "ordered_log_bench"
FORMS = ("order", "interleaved", "scalegate")
TIMEOUT_S = 300.0


def trial(
    program: Path, form: str, ways: int, batch: int, tuples: int, run: int
) -> tuple[float, float]:
    """Run one process; `ways` sources, as many readers, `run` rows of a source at a time.

    Returns:
        Tuples per second and CPU nanoseconds per tuple, all threads together.

    Raises:
        subprocess.CalledProcessError: the answer was wrong, or the options are.
    """
    command = [str(program), form, str(ways), str(ways), str(batch), str(tuples), str(run)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
    rate, cpu_ns = done.stdout.split()
    return float(rate), float(cpu_ns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--tuples", type=int, default=8_000_000)
    parser.add_argument("--run", type=int, default=1, help="rows of a source before the next's")
    parser.add_argument("--ways", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--form", nargs="+", choices=FORMS, default=list(FORMS))
    given = parser.parse_args(arguments)
    build_program(given.program)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, run {given.run}, medians")
    for ways in given.ways:
        for batch in given.batch:
            seen: dict[str, list[tuple[float, float]]] = defaultdict(list)
            for _ in range(given.repetitions):
                for form in given.form:
                    seen[form].append(
                        trial(given.program, form, ways, batch, given.tuples, given.run)
                    )
            for form, trials in seen.items():
                rates = sorted(rate / 1e6 for rate, _ in trials)
                cpu_ns = statistics.median(cpu for _, cpu in trials)
                print(
                    f"{ways} x {ways}, batch {batch:3}, {form:10}: {statistics.median(rates):7.1f} "
                    f"M tuples/s ({rates[0]:.1f} to {rates[-1]:.1f}), {cpu_ns:6.1f} ns of CPU",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
