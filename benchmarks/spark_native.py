"""Compares the CPU time per event of Spark's compiled variants with that of its other variants.

The time covers all processes in the timed part. The difference of two input sizes gives the time per event, and also
the fixed time per application. Answers are compared with the oracle's.

    python -m benchmarks.spark_native --workloads keyed_counter wordcount
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlab as lab

WAYS = {
    "native": ("native", ""),
    "blocks": ("native", 'form = "blocks"'),
    "batch": ("batch", ""),
    "generic-batch": ("generic-batch", ""),
    "native-streaming": ("native-streaming", ""),
    "streaming": ("streaming", ""),
}
"""Variants with their options, by name; `blocks` distributes events instead of partial states or aggregates."""
SIZES = {
    "keyed_counter": (4_000_000, 24_000_000),
    "event_window": (4_000_000, 24_000_000),
    "wordcount": (100_000, 400_000),
    "campaign_views": (2_000_000, 10_000_000),
    "campaign_views_tumbling": (2_000_000, 10_000_000),
}
"""Events of the smaller and the larger input of each workload."""
SLOWER = {"generic-batch": 10}
"""Factor by which the inputs of slow variants are smaller."""


MATRIX = """\
[run]
name = "spark_native"
repetitions = {repetitions}
timeout_s = 1800
seed = 1

[[workload]]
name = "{workload}"
events = {events}

[[engine]]
name = "spark"
variants = ["{variant}"]
workers = [2]
options = {{ {options} }}
"""


def cpu_s(workload: str, way: str, events: int, repetitions: int) -> float:
    """Return the least CPU time of the timed part in seconds; fail on a wrong answer."""
    variant, options = WAYS[way]
    with TemporaryDirectory(prefix="spark-native-") as folder:
        matrix = Path(folder) / "matrix.toml"
        matrix.write_text(
            MATRIX.format(
                repetitions=repetitions,
                workload=workload,
                events=events,
                variant=variant,
                options=options,
            )
        )
        frame = lab.run(matrix, out=Path(folder) / "run", quiet=True).frame()
    if set(frame["status"]) != {"ok"}:
        raise ArithmeticError(f"{workload} {way}: {', '.join(map(str, frame['reason']))}")
    return float(frame["cpu_s"].min())


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a line for each workload and variant, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workloads", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args(arguments)
    for workload in options.workloads:
        for way in options.ways:
            if way in ("batch", "streaming") and workload.startswith("campaign"):
                continue  # Spark has no hand-written query for typed graphs.
            small, large = (size // SLOWER.get(way, 1) for size in SIZES[workload])
            small_cpu_s, large_cpu_s = (
                cpu_s(workload, way, n, options.repetitions) for n in (small, large)
            )
            slope = (large_cpu_s - small_cpu_s) / (large - small)
            print(
                f"{workload:24} {way:14} {slope * 1e9:8,.0f} ns an event, {small_cpu_s - slope * small:5.1f} s once"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
