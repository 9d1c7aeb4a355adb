"""Measures what the figures need, and nothing else: the lab's matrices, Numba loops, generators.

The trials are the lab's own: fresh processes, interleaved, each with a verified answer. The Numba
loop and the generator run in fresh processes, too, the loop before and after the trials.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Evidence, Target
from lab.gate.instructions import compare_counts, count_tree
from lab.gate.outcome import Word
from results.store import Row, read_run

HERE = Path(__file__).parent
ROOT = HERE.parent
MATRICES = {name: HERE / f"{name}.toml" for name in ("matrix", "latency")}
"""By file name: catch-up cells, and a search for a sustainable rate."""

LOOPS = 3
"""Numba loops on each side of the runs: six processes in all."""
GENERATORS = 5
"""Processes in which the generator is tried."""
SUITES = 5
"""Times that all instructions are counted without a change, besides the first."""
PLANT_PERCENT = 5.0


class RunFailedError(Exception):
    """`lab run` made no run directory; carries its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"lab run ended with code {code}")
        self.code = code


def gather(targets: Sequence[Target], runs: Sequence[Path] = ()) -> tuple[Evidence, int]:
    """Measure what these figures need.

    Args:
        targets: the figures.
        runs: earlier runs of the matrices; they are judged instead of new ones.

    Returns:
        The evidence, and the worst exit code of `lab run`, 0 where none was run.

    Raises:
        RunFailedError: `lab run` made no run directory.
    """
    kinds = {target.kind for target in targets}
    loops = _loops() if "share" in kinds else []
    rows: list[Row] = []
    code = 0
    for name, cells in _cells_by_matrix(targets).items():
        if runs:
            continue
        run_dir, ended = _run_matrix(MATRICES[name], cells)
        rows += read_run(run_dir).rows
        code = max(code, ended)
    for run_dir in runs:
        rows += read_run(run_dir).rows
    loops += _loops() if "share" in kinds else []
    tries = _generators() if kinds & {"generator", "send_lag"} else []
    alarms, seen = _count_gate() if kinds & {"false_alarms", "power"} else ([], [])
    evidence = Evidence(
        rows=rows,
        loops_eps=loops,
        generators_eps=[found["eps"] for found in tries],
        send_lags_ns=[found["send_lag_p99_ns"] for found in tries],
        alarms=alarms,
        seen=seen,
    )
    return evidence, code


def _cells_by_matrix(targets: Sequence[Target]) -> dict[str, list[str]]:
    """Return by matrix the cells that are needed; of latencies, the search's."""
    needed: dict[str, list[str]] = {}
    for target in targets:
        for cell in target.cells:
            matrix = "latency" if target.kind == "latency" else "matrix"
            if cell not in needed.setdefault(matrix, []):
                needed[matrix].append(cell)
    return needed


def _run_matrix(matrix: Path, cells: Sequence[str]) -> tuple[Path, int]:
    """Run the lab on cells of a matrix; return the run directory and the exit code."""
    only = [word for cell in cells for word in ("--only", cell)]
    command = [sys.executable, "-m", "lab", "run", str(matrix), *only]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    lines = done.stdout.strip().splitlines()
    if not lines or not Path(lines[-1]).is_dir():
        raise RunFailedError(done.returncode or 3)
    return Path(lines[-1]), done.returncode


def _loops() -> list[float]:
    """Return the Numba loop's rate in events/s, from fresh processes."""
    return [float(_said("benchmarks.numba_loop")) for _ in range(LOOPS)]


def _generators() -> list[dict[str, Any]]:
    """Return what fresh processes say of the generator."""
    return [json.loads(_said("benchmarks.generator")) for _ in range(GENERATORS)]


def _count_gate() -> tuple[list[bool], list[bool]]:
    """Return whether the gate on counts failed each unchanged suite, and called each plant."""
    with tempfile.TemporaryDirectory(prefix="lab-counts-") as folder:
        out = Path(folder) / "counts.json"
        first = count_tree(ROOT, ROOT, out)
        again = [count_tree(ROOT, ROOT, out) for _ in range(SUITES)]
        planted = count_tree(ROOT, ROOT, out, plants=[(n, PLANT_PERCENT) for n in first.counts])
    called = [[line.word is Word.REGRESSION for line in compare_counts(first, c)] for c in again]
    seen = [line.word is Word.REGRESSION for line in compare_counts(first, planted)]
    return [any(calls) for calls in called], seen


def _said(module: str) -> str:
    command = [sys.executable, "-m", module]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
