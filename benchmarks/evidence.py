"""Measures cells of matrices and programs of this folder, as figures need them.

`lab run` measures the cells, in interleaved fresh processes with verified answers.
Programs also run in fresh processes, in turn: every second process before the cells, the others after them.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import core_programs, keyed_operators
from benchmarks.figures import LISTS, Evidence, Target
from benchmarks.turns import Numbers, run_lab, run_program
from streamlab.lab.gate.instructions import compare_counts, count_tree
from streamlab.lab.gate.outcome import Verdict
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import read_matrix
from streamlab.results.schema import VERIFIED, TrialRow
from streamlab.results.store import read_run
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.model import ListColumn

HERE = Path(__file__).parent
ROOT = HERE.parent
MATRICES = tuple(
    HERE / f"{name}.toml"
    for name in ("matrix", "latency", "operators", "pipelines", "dataflow", "scatter")
)
"""Matrices with the cells that figures may name."""

LOG_TUPLES = 16_000_000
"""Takes 27 ms at 600 M tuples/s."""
SPINS_OF_A_UNIT = 50
"""Work per unit that takes about as long as passing the unit on."""
REORDERED_UNITS = 4_000_000
"""Takes 60 ms at 15 ns per unit; `_reordering` reduces the number for units with more work."""
SUITES = 5
"""Number of repeated counts without a change, after the first count."""
PLANT_PERCENT = 5.0


class RunFailedError(Exception):
    """`lab run` made no run directory; carries its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"lab run ended with code {code}")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that figures may name; `needs_build` for programs of the core."""

    run: Callable[..., Numbers]
    processes: int
    needs_build: bool = False


def _ordered_log(form: str, ways: str, batch: str, run: str) -> Numbers:
    return core_programs.trial("ordered_log", form, ways, ways, batch, str(LOG_TUPLES), run)


def _reordering(scheme: str, threads: str, spins: str) -> Numbers:
    units = REORDERED_UNITS // (1 + int(spins) // SPINS_OF_A_UNIT)
    return core_programs.trial("reordering", scheme, threads, str(units), spins)


def _reconfiguration(*instances: str) -> Numbers:
    by_direction = run_program("reconfiguration", *instances)
    return {direction: numbers["p99_ns"] for direction, numbers in by_direction.items()}


def _gate_on_counts() -> Numbers:
    """Count instructions without a change, and with 5 % more work planted in each benchmark."""
    with tempfile.TemporaryDirectory(prefix="lab-counts-") as folder:
        out = Path(folder) / "counts.json"
        first = count_tree(ROOT, ROOT, out)
        repeated = [count_tree(ROOT, ROOT, out) for _ in range(SUITES)]
        planted = count_tree(ROOT, ROOT, out, plants=[(n, PLANT_PERCENT) for n in first.counts])
    alarms = [
        [line.word is Verdict.REGRESSION for line in compare_counts(first, c)] for c in repeated
    ]
    hits = [line.word is Verdict.REGRESSION for line in compare_counts(first, planted)]
    return {"false_alarms": sum(map(any, alarms)) / SUITES, "power": sum(hits) / len(hits)}


PROGRAMS: Mapping[str, Program] = {
    "numba_loop": Program(run=partial(run_program, "numba_loop"), processes=6),
    "generator": Program(run=partial(run_program, "generator"), processes=5),
    "ordered_log": Program(run=_ordered_log, processes=7, needs_build=True),
    "keyed_operators": Program(run=keyed_operators.trial, processes=5),
    "reordering": Program(run=_reordering, processes=9, needs_build=True),
    "reconfiguration": Program(run=_reconfiguration, processes=3),
    "gate_on_counts": Program(run=_gate_on_counts, processes=1),
}


def gather(targets: Sequence[Target], runs: Sequence[Path] = ()) -> tuple[Evidence, int]:
    """Measure all quantities of these figures; earlier `runs`, if any, replace new runs.

    Returns:
        The evidence, and the worst exit code of `lab run`; 0 if no matrix ran.

    Raises:
        RunFailedError: `lab run` made no run directory.
        ValueError: a figure names an unknown cell or program.
    """
    matrices = {} if runs else cells_by_matrix(targets)
    programs = Programs(targets)
    programs.rounds(0)
    rows: list[TrialRow] = []
    code = 0
    for matrix, cells in matrices.items():
        only = [word for cell in cells for word in ("--only", cell)]
        run_dir, exit_code = run_lab(str(matrix), *only)
        if run_dir is None:
            raise RunFailedError(exit_code or 3)
        rows += read_run(run_dir).rows
        code = max(code, exit_code)
    for run_dir in runs:
        rows += read_run(run_dir).rows
    programs.rounds(1)
    lists = list_values(targets, rows)
    return Evidence(rows=rows, programs=programs.numbers, lists=lists), code


class Programs:
    """Runs the programs that figures need; `numbers` becomes `Evidence.programs`."""

    def __init__(self, targets: Sequence[Target]) -> None:
        """Build the programs that need it.

        Raises:
            ValueError: a figure names an unknown program.
        """
        sources = {q.source: t for t in targets for q in t.quantities if not q.is_of_cell}
        for source, target in sources.items():
            if source.split()[0] not in PROGRAMS:
                names = ", ".join(PROGRAMS)
                raise ValueError(f"{target.name}: no program {source!r}; there are {names}")
        for name in {source.split()[0] for source in sources}:
            if PROGRAMS[name].needs_build:
                core_programs.build(name)
        self.numbers: dict[str, list[Numbers]] = {source: [] for source in sources}
        self._failed: set[str] = set()

    def rounds(self, first: int) -> None:
        """Run the programs in turn: the processes numbered `first`, `first` + 2 and so on."""
        for number in range(first, max(p.processes for p in PROGRAMS.values()), 2):
            for source in self.numbers:
                name, *arguments = source.split()
                if number >= PROGRAMS[name].processes or source in self._failed:
                    continue
                try:
                    self.numbers[source].append(PROGRAMS[name].run(*arguments))
                except subprocess.SubprocessError as error:
                    print(f"{source}: {error}", file=sys.stderr)
                    self._failed.add(source)
                    self.numbers[source].clear()


def cells_by_matrix(targets: Sequence[Target]) -> dict[Path, list[str]]:
    """Return the cells that figures need, by matrix.

    Raises:
        ValueError: a cell is in no matrix.
    """
    matrix_of = {cell.id: path for path in reversed(MATRICES) for cell in expand(read_matrix(path))}
    needed: dict[Path, list[str]] = {}
    for target in targets:
        for cell in target.cells:
            if cell not in matrix_of:
                names = ", ".join(path.name for path in MATRICES)
                raise ValueError(f"{target.name}: no cell {cell} in {names}")
            if cell not in needed.setdefault(matrix_of[cell], []):
                needed[matrix_of[cell]].append(cell)
    return needed


def list_values(targets: Sequence[Target], rows: Sequence[TrialRow]) -> dict[tuple[str, str], int]:
    """Return the total number of values in the lists that figures need, by dataset and column.

    Raises:
        DatasetError: a trial's input is no longer in the catalogue.
        ValueError: a column holds no lists.
    """
    needed = {
        (row.dataset, quantity.name.removeprefix(LISTS).split("/")[0])
        for target in targets
        for quantity in target.quantities
        if quantity.name.startswith(LISTS)
        for row in rows
        if row.cell == quantity.source and row.status in VERIFIED
    }
    counts: Counter[tuple[str, str]] = Counter()
    for dataset, column in sorted(needed):
        for stream in Catalog.default().get(dataset).load().streams:
            lists = stream.payload[column]
            if not isinstance(lists, ListColumn):
                raise ValueError(f"column {column} of stream {stream.name} holds no lists")
            counts[dataset, column] += len(lists.packed().values)
    return counts
