"""Measures what the figures need: cells of the lab's matrices, and this folder's programs.

The trials are the lab's own: fresh processes, interleaved, each with a verified answer. Programs
run in fresh processes, too, in turn, every second time before the trials and else after them.
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
"""A cell of a figure is in one of them."""

LOG_TUPLES = 16_000_000
"""At 600 M tuples/s, 27 ms."""
SPINS_OF_A_UNIT = 50
"""Work on a unit that takes about as long as passing it on."""
REORDERED_UNITS = 4_000_000
"""At 15 ns, 60 ms; of units with much work there are fewer."""
SUITES = 5
"""Times that all instructions are counted without a change, besides the first."""
PLANT_PERCENT = 5.0


class RunFailedError(Exception):
    """`lab run` made no run directory; carries its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"lab run ended with code {code}")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Programs that a figure may name besides cells."""

    run: Callable[..., Numbers]
    processes: int
    built: bool = False


def _ordered_log(form: str, ways: str, batch: str, run: str) -> Numbers:
    return core_programs.trial("ordered_log", form, ways, ways, batch, str(LOG_TUPLES), run)


def _reordering(scheme: str, threads: str, spins: str) -> Numbers:
    units = REORDERED_UNITS // (1 + int(spins) // SPINS_OF_A_UNIT)
    return core_programs.trial("reordering", scheme, threads, str(units), spins)


def _reconfiguration(*instances: str) -> Numbers:
    by_direction = run_program("reconfiguration", *instances)
    return {direction: numbers["p99_ns"] for direction, numbers in by_direction.items()}


def _gate_on_counts() -> Numbers:
    """Count instructions without a change and with 5 % of work planted in each benchmark."""
    with tempfile.TemporaryDirectory(prefix="lab-counts-") as folder:
        out = Path(folder) / "counts.json"
        first = count_tree(ROOT, ROOT, out)
        again = [count_tree(ROOT, ROOT, out) for _ in range(SUITES)]
        planted = count_tree(ROOT, ROOT, out, plants=[(n, PLANT_PERCENT) for n in first.counts])
    alarms = [[line.word is Verdict.REGRESSION for line in compare_counts(first, c)] for c in again]
    hits = [line.word is Verdict.REGRESSION for line in compare_counts(first, planted)]
    return {"false_alarms": sum(map(any, alarms)) / SUITES, "power": sum(hits) / len(hits)}


PROGRAMS: Mapping[str, Program] = {
    "numba_loop": Program(run=partial(run_program, "numba_loop"), processes=6),
    "generator": Program(run=partial(run_program, "generator"), processes=5),
    "ordered_log": Program(run=_ordered_log, processes=7, built=True),
    "keyed_operators": Program(run=keyed_operators.trial, processes=5),
    "reordering": Program(run=_reordering, processes=9, built=True),
    "reconfiguration": Program(run=_reconfiguration, processes=3),
    "gate_on_counts": Program(run=_gate_on_counts, processes=1),
}


def gather(targets: Sequence[Target], runs: Sequence[Path] = ()) -> tuple[Evidence, int]:
    """Measure what these figures need.

    With earlier runs, judges them instead of new ones.

    Returns:
        The evidence, and the worst exit code of `lab run`, 0 where none was run.

    Raises:
        RunFailedError: `lab run` made no run directory.
        ValueError: there is no such cell or program.
    """
    matrices = {} if runs else cells_by_matrix(targets)
    programs = Programs(targets)
    programs.rounds(0)
    rows: list[TrialRow] = []
    code = 0
    for matrix, cells in matrices.items():
        only = [word for cell in cells for word in ("--only", cell)]
        run_dir, ended = run_lab(str(matrix), *only)
        if run_dir is None:
            raise RunFailedError(ended or 3)
        rows += read_run(run_dir).rows
        code = max(code, ended)
    for run_dir in runs:
        rows += read_run(run_dir).rows
    programs.rounds(1)
    lists = list_values(targets, rows)
    return Evidence(rows=rows, programs=programs.numbers, lists=lists), code


class Programs:
    """Runs the programs that figures need; `numbers` becomes `Evidence.programs`."""

    def __init__(self, targets: Sequence[Target]) -> None:
        """Build what has to be built.

        Raises:
            ValueError: there is no such program.
        """
        sources = {q.source: t for t in targets for q in t.quantities if not q.is_of_cell}
        for source, target in sources.items():
            if source.split()[0] not in PROGRAMS:
                names = ", ".join(PROGRAMS)
                raise ValueError(f"{target.name}: no program {source!r}; there are {names}")
        for name in {source.split()[0] for source in sources}:
            if PROGRAMS[name].built:
                core_programs.build(name)
        self.numbers: dict[str, list[Numbers]] = {source: [] for source in sources}
        self._failed: set[str] = set()

    def rounds(self, first: int) -> None:
        """Run every second process of each, from the first or the second on, in turn."""
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


def list_values(targets: Sequence[Target], rows: Sequence[TrialRow]) -> dict[tuple[str, str], int]:
    """Return by dataset and list column how many values its lists have, as figures need them.

    Raises:
        DatasetError: the input of a trial is no longer in the catalogue.
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
