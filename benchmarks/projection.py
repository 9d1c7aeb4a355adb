"""How far `lab project` is off where it can be checked: everything measured anew, in one go.

Each process measures costs and runs in processes of their own; what users have kept is not read.

    python -m benchmarks.projection event_window --grow streams --param values_per_barrier=1000
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence

from lab.cli.plan import pairs
from lab.project.calibration import calibrate
from lab.project.subject import Subject
from lab.project.validation import compare, measure, numbers_of_workers, worst_error

EVENTS = 4_000_000
"""For each worker with --grow, else of the whole input; the command's default."""
PROCESSES = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the errors as JSON, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("workload")
    parser.add_argument("--grow")
    parser.add_argument("--param", action="append", default=[], metavar="K=V")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    given = parser.parse_args(arguments)
    subject = Subject(
        reference=given.workload, events=given.events, params=pairs(given.param), grow=given.grow
    ).checked()

    def told(text: str) -> None:
        print(text, file=sys.stderr)

    with tempfile.TemporaryDirectory(prefix="lab-projection-") as folder:
        os.environ["LAB_DATA"] = folder  # a gigabyte of input that nobody asks for again
        calibration = calibrate(subject, processes=given.processes, told=told)
        workers = numbers_of_workers(subject, calibration.costs.cores)
        measured = measure(subject, workers, repetitions=given.processes, told=told)
    points = compare(subject, calibration, measured)
    said = {f"error {point.measured.workers}": point.error for point in points}
    print(json.dumps({"worst_error": worst_error(points), **said}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
