"""Measures what the figures need, and nothing else: the lab's matrices, and this folder's programs.

The trials are the lab's own: fresh processes, interleaved, each with a verified answer. The Numba
loop, the generator, the ordered log and reconfigurations run in fresh processes, too, the loop
before and after the trials.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import ordered_log, reordering
from benchmarks.figures import ORDER, UNORDERED, Evidence, Setting, Target
from benchmarks.program import build_program
from lab.gate.instructions import compare_counts, count_tree
from lab.gate.outcome import Word
from lab.matrix.cells import expand
from lab.matrix.matrix import read_matrix
from results.schema import VERIFIED
from results.store import Row, read_run
from workloads.datasets.catalog import Catalog
from workloads.model import ListColumn

HERE = Path(__file__).parent
ROOT = HERE.parent
MATRICES = tuple(
    HERE / f"{name}.toml" for name in ("matrix", "latency", "operators", "pipelines", "scatter")
)
"""A cell of a figure is in one of them."""

LOOPS = 3
"""Numba loops on each side of the runs: six processes in all."""
GENERATORS = 5
"""Processes in which the generator is tried."""
LOGS = 7
"""Processes of each form of the ordered log, in turn."""
LOG_TUPLES = 16_000_000
"""At 600 M tuples/s, 27 ms."""
SPINS_OF_A_UNIT = 50
"""Work on a unit that takes about as long as passing it on."""
REORDERINGS = 9
"""Processes of each reordering scheme, in turn."""
REORDERED_UNITS = 4_000_000
"""At 15 ns, 60 ms."""
SWITCHES = 3
"""Processes in which instances are changed."""
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
    for matrix, cells in {} if runs else cells_by_matrix(targets).items():
        run_dir, ended = _run_matrix(matrix, cells)
        rows += read_run(run_dir).rows
        code = max(code, ended)
    for run_dir in runs:
        rows += read_run(run_dir).rows
    loops += _loops() if "share" in kinds else []
    tries = _generators() if kinds & {"generator", "send_lag"} else []
    if kinds & {"log", "log_ratio"}:
        build_program(ordered_log.PROGRAM)
    if "reordering" in kinds:
        build_program(reordering.PROGRAM)
    alarms, seen = _count_gate() if kinds & {"false_alarms", "power"} else ([], [])
    evidence = Evidence(
        rows=rows,
        loops_eps=loops,
        generators_eps=[found["eps"] for found in tries],
        send_lags_ns=[found["send_lag_p99_ns"] for found in tries],
        alarms=alarms,
        seen=seen,
        lists=list_values(targets, rows),
        logs_eps=log_rates(targets),
        switches_ns=switch_times(targets),
        reordering_ns=reordering_costs(targets),
    )
    return evidence, code


def cells_by_matrix(targets: Sequence[Target]) -> dict[Path, list[str]]:
    """Return by matrix the cells that are needed.

    Raises:
        ValueError: no matrix has a cell.
    """
    known = {cell.id: path for path in reversed(MATRICES) for cell in expand(read_matrix(path))}
    needed: dict[Path, list[str]] = {}
    for target in targets:
        for cell in target.cells:
            if cell not in known:
                names = ", ".join(path.name for path in MATRICES)
                raise ValueError(f"{target.name}: no cell {cell} in {names}")
            if cell not in needed.setdefault(known[cell], []):
                needed[known[cell]].append(cell)
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


def list_values(targets: Sequence[Target], rows: Sequence[Row]) -> dict[tuple[str, str], int]:
    """Return by dataset and list column how many values its lists have, as figures need them.

    Raises:
        DatasetError: the input of a trial is no longer in the catalogue.
        ValueError: a column holds no lists.
    """
    wanted = {(t.cell, t.list_column) for t in targets if t.list_column}
    needed = {
        (row["dataset"], column)
        for cell, column in wanted
        for row in rows
        if row["cell"] == cell and row["status"] in VERIFIED
    }
    found: dict[tuple[str, str], int] = {}
    for dataset, column in sorted(needed):
        for stream in Catalog.default().get(dataset).load().streams:
            lists = stream.payload[column]
            if not isinstance(lists, ListColumn):
                raise ValueError(f"column {column} of stream {stream.name} holds no lists")
            count = found.get((dataset, column), 0)
            found[dataset, column] = count + len(lists.packed().values)
    return found


def log_rates(
    targets: Sequence[Target], tuples: int = LOG_TUPLES
) -> dict[tuple[str, Setting], list[float]]:
    """Return the rates of the ordered log's forms in the settings that figures need.

    A setting in which a process fails has none.
    """
    needed = {(ORDER, t.setting): None for t in targets if t.ways}
    needed |= {(t.form, t.setting): None for t in targets if t.form}
    found: dict[tuple[str, Setting], list[float]] = {key: [] for key in needed}
    failed: set[tuple[str, Setting]] = set()
    for _ in range(LOGS):
        for form, setting in (key for key in needed if key not in failed):
            ways, batch, run = setting
            try:
                rate, _ = ordered_log.trial(ordered_log.PROGRAM, form, ways, batch, tuples, run)
            except subprocess.SubprocessError as error:
                print(f"ordered log: {error}", file=sys.stderr)
                failed.add((form, setting))
            else:
                found[form, setting].append(rate)
    return {key: [] if key in failed else rates for key, rates in found.items()}


def switch_times(targets: Sequence[Target], *options: str) -> dict[tuple[int, int], list[float]]:
    """Return p99 of the reconfiguration time in each process, by instances before and after.

    Both directions have none when a process fails: the answer was wrong, or changes are missing.

    Args:
        targets: the figures.
        options: further ones of `benchmarks.reconfiguration`.
    """
    changes = {(t.before, t.after) for t in targets if t.kind == "reconfiguration"}
    pairs = sorted({(min(change), max(change)) for change in changes})
    found: dict[tuple[int, int], list[float]] = {}
    failed: set[tuple[int, int]] = set()
    for _ in range(SWITCHES):
        for low, high in (pair for pair in pairs if pair not in failed):
            try:
                said = json.loads(
                    _said("benchmarks.reconfiguration", str(low), str(high), *options)
                )
            except subprocess.CalledProcessError:  # it has said why
                failed.add((low, high))
                continue
            for change in ((low, high), (high, low)):
                p99_ns = said[f"{change[0]} -> {change[1]}"]["p99_ns"]
                found.setdefault(change, []).append(p99_ns)
    bad = failed | {(high, low) for low, high in failed}
    return {change: times for change, times in found.items() if change not in bad}


def reordering_costs(
    targets: Sequence[Target], units: int = REORDERED_UNITS
) -> dict[tuple[str, int, int], list[float]]:
    """Return CPU ns per unit of the reordering schemes, and of none, as figures need them.

    Of units with much work there are fewer. A setting in which a process fails has none.
    """
    asked = [(t.scheme, t.threads, t.spins) for t in targets if t.kind == "reordering"]
    needed = dict.fromkeys(
        (scheme, threads, spins) for mine, threads, spins in asked for scheme in (UNORDERED, mine)
    )
    found: dict[tuple[str, int, int], list[float]] = {key: [] for key in needed}
    failed: set[tuple[str, int, int]] = set()
    for _ in range(REORDERINGS):
        for key in (key for key in needed if key not in failed):
            scheme, threads, spins = key
            some = units // (1 + spins // SPINS_OF_A_UNIT)
            try:
                cpu_ns = reordering.trial(reordering.PROGRAM, scheme, threads, some, spins)
            except subprocess.SubprocessError as error:
                print(f"reordering: {error}", file=sys.stderr)
                failed.add(key)
            else:
                found[key].append(cpu_ns)
    return {key: [] if key in failed else costs for key, costs in found.items()}


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


def _said(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
