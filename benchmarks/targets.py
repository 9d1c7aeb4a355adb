"""Measures every figure in targets.toml and says which are reached: `python -m benchmarks.targets`.

The trials are the lab's own: fresh processes, interleaved, each with a verified answer. The Numba
loop runs in fresh processes before and after them. Exit code 0 when every figure is reached, 1 when
one is short, else that of `lab run`.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from results.query import CellSummary, by_cell
from results.store import read_run

HERE = Path(__file__).parent
LOOPS = 3
"""Numba loops on each side of the run: six processes in all."""


def measure_loops() -> list[float]:
    """Return the Numba loop's rate in events/s, from fresh processes."""
    command = [sys.executable, "-m", "benchmarks.numba_loop"]
    return [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(LOOPS)
    ]


def run_matrix(matrix: Path) -> tuple[Path, int]:
    """Run the lab on a matrix; return the run directory and the exit code."""
    command = [sys.executable, "-m", "lab", "run", str(matrix)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    lines = done.stdout.strip().splitlines()
    if not lines or not Path(lines[-1]).is_dir():
        sys.exit(done.returncode or 3)
    return Path(lines[-1]), done.returncode


def throughput(cells: Mapping[str, CellSummary], cell: str) -> float | None:
    """Return a cell's median throughput in events/s, None when it has none."""
    spread = cells[cell].spread("throughput_eps") if cell in cells else None
    return spread.median if spread else None


def measured(
    target: Mapping[str, str], cells: Mapping[str, CellSummary], loop_eps: float
) -> float | None:
    """Return the value of one target, None when a cell that it needs has no number."""
    mine = throughput(cells, target["cell"])
    if mine is None:
        return None
    match target["kind"]:
        case "rate":
            return mine
        case "share":
            return mine / loop_eps
        case "ratio":
            other = throughput(cells, target["over"])
            return mine / other if other else None
        case "counter":
            values = [
                json.loads(row["counters"])[target["counter"]] for row in cells[target["cell"]].rows
            ]
            return median(values)
        case kind:
            raise ValueError(f"targets.toml: target {target['name']} has unknown kind {kind!r}")


def reached(target: Mapping[str, str], value: float) -> bool:
    """Return whether a value is good enough: a counter at most, anything else at least."""
    wanted = float(target["wanted"])
    return value <= wanted if target["kind"] == "counter" else value >= wanted


def main() -> int:
    """Measure, print the table, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="judge an earlier run of benchmarks/matrix.toml")
    given = parser.parse_args()
    targets = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))["target"]
    loops = measure_loops()
    run_dir, code = (given.run, 0) if given.run else run_matrix(HERE / "matrix.toml")
    loops += measure_loops()
    cells = {summary.cell: summary for summary in by_cell(read_run(run_dir).rows)}
    table = Table("figure", "measured", "wanted", "", box=None)
    short = 0
    for target in targets:
        value = measured(target, cells, median(loops))
        good = value is not None and reached(target, value)
        short += not good
        shown = "no number" if value is None else _short(value)
        bound = "at most" if target["kind"] == "counter" else "at least"
        verdict = "ok" if good else "short"
        table.add_row(target["name"], shown, f"{bound} {_short(float(target['wanted']))}", verdict)
    console = Console(width=110 if not sys.stdout.isatty() else None)
    console.print(table)
    console.print(f"Numba loop, all cores at once: {_short(median(loops))} events/s")
    return code or (1 if short else 0)


def _short(value: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size * 10 or (value >= size and unit != "k"):
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
