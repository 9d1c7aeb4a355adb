"""Measures workloads without a cluster and on local clusters of one and two workers, and the cost of faults.

    python -m benchmarks.clusters

Clusters of Spark and Flink run side by side, and their trials alternate. A worker has one core.
Prints Markdown tables: median rates for short and long inputs, and durations of runs with and without a fault.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import streamlab as lab
from streamlab.results.schema import TrialRow
from streamlab.results.store import read_run

Variants = Sequence[tuple[str, str]]
"""Engines with a variant, or "" for the default one."""

EVENTS = {
    "keyed_counter": 8_000_000,
    "event_window": 16_000_000,
    "page_view_join": 4_000_000,
    "wordcount": 200_000,
}
LONG_EVENTS = {
    "keyed_counter": 100_000_000,
    "event_window": 200_000_000,
    "page_view_join": 20_000_000,
    "wordcount": 2_000_000,
}
"""Inputs that take Spark seconds, so that its start counts less. Flink's task managers lack the memory for them."""
REPETITIONS = 3
VARIANTS = (("multicore", ""), ("spark", "native"), ("spark", "batch"), ("flink", "automatic"))
LONG_VARIANTS = (("spark", "native"), ("spark", "batch"))
OPTIONS = {"spark": "master", "flink": "jobmanager"}
FAULTED = "event_window"
FAULT_EVENTS = {"spark": 60_000_000, "flink": 30_000_000}
"""Fewer events for Flink, whose task managers hold the input in memory."""
KILL, CUT = "kill worker after 2 s", "cut network after 2 s for 5 s"
EARLY_KILL = "kill worker after 0.3 s"
"""Fault of the compiled variant, which takes less than a second."""
FAULTS = (
    ("spark", "batch", KILL, ""),
    ("spark", "batch", CUT, ""),
    ("spark", "native", EARLY_KILL, ""),
    ("spark", "streaming", KILL, ", micro_batches = 20"),
    ("flink", "automatic", KILL, ", checkpoint_ms = 1000"),
    ("flink", "automatic", CUT, ", checkpoint_ms = 1000"),
)


@contextmanager
def cluster(engine: str, workers: int, network: str) -> Iterator[str]:
    """Start a cluster and yield its address."""
    command = [sys.executable, "-m", "streamlab", "cluster"]
    words = ["--workers", str(workers), "--network", network, "--memory-mb", "2048"]
    up = subprocess.run(
        [*command, "up", "--engine", engine, *words], stdout=subprocess.PIPE, text=True, check=True
    )
    try:
        yield up.stdout.strip()
    finally:
        subprocess.run([*command, "down", "--engine", engine], check=True)


def engine_table(engine: str, variant: str, workers: int, more: str) -> str:
    """Return an [[engine]] table of a matrix; `more` has further lines."""
    variants = f'variants = ["{variant}"]\n' if variant else ""
    return f'[[engine]]\nname = "{engine}"\n{variants}workers = [{workers}]\n{more}\n'


def run(
    name: str, events: Mapping[str, int], engines: list[str], repetitions: int
) -> list[TrialRow]:
    """Run a matrix and return its rows."""
    text = f'[run]\nname = "{name}"\nrepetitions = {repetitions}\ntimeout_s = 900\n\n'
    for workload, size in events.items():
        text += f'[[workload]]\nname = "{workload}"\nevents = {size}\n\n'
    with TemporaryDirectory(prefix="clusters-") as folder:
        matrix = Path(folder) / "matrix.toml"
        matrix.write_text(text + "\n".join(engines), encoding="utf-8")
        return list(read_run(lab.run(matrix, quiet=True).path).rows)


def rates(
    workers: int, events: Mapping[str, int], variants: Variants
) -> dict[tuple[str, str], float | str]:
    """Return the median rate of each workload on each variant, or the status of its trials."""
    clustered = OPTIONS.keys() & {engine for engine, _ in variants}
    with ExitStack() as clusters:
        addresses = {
            name: clusters.enter_context(cluster(name, workers, "loopback")) for name in clustered
        }
        engines = [
            engine_table(
                engine,
                variant,
                workers,
                f'options = {{ {OPTIONS[engine]} = "{addresses[engine]}" }}'
                if engine in OPTIONS
                else "",
            )
            for engine, variant in variants
        ]
        rows = run(f"clusters-{workers}", events, engines, REPETITIONS)
    medians: dict[tuple[str, str], float | str] = {}
    for workload in events:
        for engine, variant in variants:
            cell_rows = [r for r in rows if (r.workload, r.engine) == (workload, engine)]
            cell_rows = [r for r in cell_rows if not variant or r.variant == variant]
            measured = [r.throughput_eps for r in cell_rows if r.throughput_eps is not None]
            name = f"{engine}/{variant}".rstrip("/")
            medians[workload, name] = median(measured) if measured else cell_rows[0].status
    return medians


def print_rates(events: Mapping[str, int], variants: Variants) -> None:
    """Print the median rates with one and two workers, and their ratio."""
    one, two = (rates(workers, events, variants) for workers in (1, 2))
    print("| workload | engine | 1 worker, events/s | 2 workers | ratio |\n|---|---|---|---|---|")
    for key, first in one.items():
        second = two[key]
        if isinstance(first, float) and isinstance(second, float):
            numbers = f"{first:,.0f} | {second:,.0f} | {second / first:.2f}"
        else:
            numbers = f"{first} | {second} |"
        print(f"| {key[0]} | {key[1]} | {numbers} |")


def print_faults() -> None:
    """Print the duration of runs with and without each fault, and the time to recover."""
    print(
        "| engine | fault | status | s without | s with | recovered after s |\n|---|---|---|---|---|---|"
    )
    for engine, variant, fault, more in FAULTS:
        with cluster(engine, 2, "namespaces") as address:
            options = f'options = {{ {OPTIONS[engine]} = "{address}"{more} }}\n'
            tables = [
                engine_table(engine, variant, 2, options),
                engine_table(engine, variant, 2, f'{options}label = "fault"\nfault = "{fault}"\n'),
            ]
            rows = run("faults", {FAULTED: FAULT_EVENTS[engine]}, tables, 1)
        whole, broken = sorted(rows, key=lambda row: row.fault is not None)
        recovery = "" if broken.recovery_s is None else f"{broken.recovery_s:.1f}"
        lengths = [f"{row.duration_s or 0:.1f}" for row in (whole, broken)]
        print(
            f"| {engine}/{variant} | {fault} | {broken.status} | {' | '.join(lengths)} | {recovery} |"
        )


if __name__ == "__main__":
    print_rates(EVENTS, VARIANTS)
    print_rates(LONG_EVENTS, LONG_VARIANTS)
    print_faults()
