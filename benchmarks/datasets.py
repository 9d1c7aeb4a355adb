"""Measures importing and generating datasets: in one process, on local Spark, and on a cluster of two workers.

    python -m benchmarks.datasets --gigabytes 0.5 --events 10_000_000

Prints a Markdown table row by row, and removes each dataset after its row.
Memory is the peak sum over all processes, without mapped files.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv as pa_csv

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.tables import csv, dataset_of
from streamlab.workloads.model import Pipeline, stateless

PROCESS, CLUSTER = "process", "cluster"
WAYS = (PROCESS, "local[1]", "local[2]", CLUSTER)
GENERATED = "event_window"
CUSTOMERS = 100_000
CATEGORIES = np.array(["red", "green", "blue", "black"])
BLOCK_ROWS = 200_000
STEP_MS, JITTER_MS = 3, 20_000
"""About half of the rows have an earlier time than the previous row; almost all are late, by less than 20 s."""
SAMPLE_S = 0.1
FIELDS = [("customer", np.int32), ("amount", np.float64), ("category", np.int32)]


def give(t: Any, out: Any) -> None:
    """Output an amount."""
    out.emit(t.amount)


PROGRAM = Pipeline(
    name="orders",
    record="order",
    event=np.dtype(FIELDS),
    stages=(
        stateless(
            name="give",
            output=np.dtype([("ts", np.int64), ("amount", np.float64)]),
            apply=give,
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Wall and CPU time in seconds, and peak memory in MB, of all processes of a command."""

    wall_s: float
    cpu_s: float
    memory_mb: float


def write_csv(path: Path, size_bytes: int) -> int:
    """Write a table of orders of at least this size, and return its number of rows."""
    draw = np.random.default_rng(1)
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    rows = 0
    with path.open("wb") as file:
        file.write(b"time,customer,amount,category\n")
        while file.tell() < size_bytes:
            steps = 1_700_000_000_000 + STEP_MS * np.arange(rows, rows + BLOCK_ROWS)
            customers = draw.integers(0, CUSTOMERS, BLOCK_ROWS)
            columns = {
                "time": steps + draw.integers(0, JITTER_MS, BLOCK_ROWS),
                "customer": [f"customer-{number}" for number in customers.tolist()],
                "amount": np.round(draw.random(BLOCK_ROWS) * 1000, 2),
                "category": pa.array(CATEGORIES[draw.integers(0, 4, BLOCK_ROWS)]),
            }
            pa_csv.write_csv(pa.table(columns), file, options)
            rows += BLOCK_ROWS
    return rows


def import_csv(path: Path, root: Path, way: str, master: str) -> None:
    """Import the table of orders, and print its id."""
    table = csv(path, ts="time", ids=("customer", "category"))
    print(
        dataset_of(
            table, "orders", PROGRAM, Catalog(root=root), executor_name=way, master=master
        ).id
    )


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Start a cluster of two workers with one core each, and yield its address."""
    command = [sys.executable, "-m", "streamlab", "cluster"]
    environment = os.environ | {"LAB_CLUSTERS": str(folder)}
    up = subprocess.run(
        [*command, "up", "--engine", "spark", "--workers", "2"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment,
    )
    try:
        yield up.stdout.strip()
    finally:
        down = [*command, "down", "--engine", "spark"]
        subprocess.run(down, check=True, env=environment, stdout=subprocess.DEVNULL)


def processes(root: psutil.Process, folder: Path) -> list[psutil.Process]:
    """Return a process with its descendants, and the processes of the cluster in this folder."""
    roots = [root]
    for process in psutil.process_iter(["cmdline"]):
        if str(folder) in " ".join(process.info["cmdline"] or ()):
            roots.append(process)
    processes_by_pid = {process.pid: process for process in roots}
    for process in roots:
        try:
            processes_by_pid |= {child.pid: child for child in process.children(recursive=True)}
        except psutil.NoSuchProcess:
            continue
    return list(processes_by_pid.values())


def measure(command: list[str], folder: Path) -> tuple[str, Usage]:
    """Run a command; return its output, and its usage including that of the cluster in this folder."""
    before = sample(processes(psutil.Process(), folder))[0]
    begin_s = time.monotonic()
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    cpu_s_by_pid: dict[int, float] = {}
    peak_bytes = 0
    try:
        while started.poll() is None:
            cpu_s, memory_bytes = sample(processes(psutil.Process(started.pid), folder))
            cpu_s_by_pid |= cpu_s
            peak_bytes = max(peak_bytes, memory_bytes)
            time.sleep(SAMPLE_S)
    finally:
        started.kill()  # Has no effect on a process that has ended.
        started.wait()
    wall_s = time.monotonic() - begin_s
    if started.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    assert started.stdout is not None
    cpu = sum(seconds - before.get(pid, 0.0) for pid, seconds in cpu_s_by_pid.items())
    usage = Usage(wall_s=wall_s, cpu_s=cpu, memory_mb=peak_bytes / 1e6)
    return started.stdout.read().strip(), usage


def sample(measured: list[psutil.Process]) -> tuple[dict[int, float], int]:
    """Return the CPU seconds per process, and the total memory in bytes."""
    cpu_s, memory_bytes = {}, 0
    for process in measured:
        try:
            times, memory = process.cpu_times(), process.memory_info()
        except psutil.NoSuchProcess:
            continue
        cpu_s[process.pid] = times.user + times.system
        memory_bytes += memory.rss - memory.shared
    return cpu_s, memory_bytes


def main() -> None:
    """Measure all ways and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--gigabytes", type=float, default=0.5, help="size of the CSV; 0: no import"
    )
    parser.add_argument(
        "--events", type=int, default=10_000_000, help="number of events to generate; 0: none"
    )
    parser.add_argument(
        "--ways", default=",".join(WAYS), help="executors to measure, separated by commas"
    )
    parser.add_argument("--folder", type=Path, help="folder of all files; default: a temporary one")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        path, root, way, master = chosen.one
        import_csv(Path(path), Path(root), way, master)
        return
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(TemporaryDirectory(prefix="datasets-", dir=chosen.folder))
        )
        tasks: dict[str, list[str]] = {}
        if chosen.gigabytes:
            rows = write_csv(folder / "orders.csv", int(chosen.gigabytes * 1e9))
            command = ["-m", "benchmarks.datasets", "--one", str(folder / "orders.csv")]
            tasks[f"import of {chosen.gigabytes:g} GB, {rows:,} rows"] = command
        if chosen.events:
            command = ["-m", "streamlab", "data", "build", GENERATED]
            tasks[f"{chosen.events:,} events"] = [*command, "--events", str(chosen.events)]
        print("| dataset | way | wall s | CPU s | peak memory, MB |\n|---|---|---|---|---|")
        ids: dict[str, str] = {}
        for way in chosen.ways.split(","):
            clusters = folder / "clusters"
            with ExitStack() as running:
                address = running.enter_context(cluster(clusters)) if way == CLUSTER else way
                for name, command in tasks.items():
                    root = folder / "data"
                    executor, master = (
                        (PROCESS, "local[*]") if way == PROCESS else ("spark", address)
                    )
                    words = [str(root), executor, master]
                    if "build" in command:
                        words = ["--root", str(root), "--with", executor, "--master", master]
                    dataset_id, usage = measure([sys.executable, *command, *words], clusters)
                    if dataset_id != ids.setdefault(name, dataset_id):
                        raise SystemExit(
                            f"{name}: {way} made {dataset_id}, the first way {ids[name]}"
                        )
                    shutil.rmtree(root)
                    row = f"{usage.wall_s:.1f} | {usage.cpu_s:.1f} | {usage.memory_mb:,.0f}"
                    print(f"| {name} | {way} | {row} |", flush=True)


if __name__ == "__main__":
    main()
