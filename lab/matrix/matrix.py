"""Reads a matrix from TOML: which workloads run on which engines, how, and how often.

docs/running.md has all keys and their defaults; docs/offered-load.md has the keys of `[load]`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from streamlab.lab.cluster.fault import EXPECTED, parse_fault
from streamlab.lab.errors import MatrixError
from streamlab.lab.isolate.isolation import KINDS, PROCESS, Isolation
from streamlab.lab.matrix.load_table import LoadEntry, parse_loads
from streamlab.lab.matrix.toml_table import (
    LONGEST_LABEL_BYTES,
    LONGEST_S,
    REQUIRED,
    TomlTable,
    is_label,
    parse_toml,
    read_text,
)
from streamlab.lab.measure.energy.choose import AUTO, NAMES
from streamlab.workloads import references
from streamlab.workloads.control_group import usable_cores_here
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.default_folders import start_folder
from streamlab.workloads.model import ModelError, Workload
from streamlab.workloads.registry import outputs, short_name
from streamlab.workloads.registry import workload as find_workload

DEFAULT_BATCH = 4096
DOUBLING = "doubling"
"""Value of `workers` in a matrix that stands for the number of usable cores and all smaller powers of two."""
DEFAULT_TIMEOUT_S = 120.0
DEFAULT_EVENTS = 1_000_000

MAX_REPETITIONS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadEntry:
    """One `[[workload]]` table: input is generated (`events`, `params`, `seed`) or a `dataset`.

    Attributes:
        reference: reference to the workload (`streamlab.workloads.registry`); empty if equal to the name.
        dataset: prefix of a dataset's id; None if the input is generated.
        events, params, query, seed, label: as in the table.
    """

    name: str
    reference: str = ""
    events: int = DEFAULT_EVENTS
    params: Mapping[str, object] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    seed: int = 1
    dataset: str | None = None
    label: str | None = None

    @property
    def key(self) -> str:
        """Return `name` or `name@label`, unique in a matrix and the first part of its cells' ids."""
        return f"{self.name}@{self.label}" if self.label else self.name

    def bound(self) -> Workload:
        """Return the workload, bound to its query parameters."""
        return self.workload().bound(self.query)

    def workload(self) -> Workload:
        """Return the workload with its default query parameters."""
        return find_workload(self.full_reference)

    @property
    def full_reference(self) -> str:
        """Return the reference or name for `streamlab.workloads.registry`."""
        return self.reference or self.name

    def workload_override(self, dataset: Dataset) -> str | None:
        """Return the workload to run instead of the dataset's own; None if they are the same."""
        return None if self.full_reference == dataset.workload else self.full_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEntry:
    """One `[[engine]]` table.

    Attributes:
        variants: names of variants; None for the default variant of each workload.
        workloads: patterns of workloads; None for all workloads.
        workers, batch, options, repetitions, timeout_s, label, fault: as in the table.
        trial_s: approximate duration of a trial in seconds; None if unknown.
    """

    name: str
    variants: tuple[str, ...] | None = None
    workers: tuple[int, ...] = (1,)
    batch: tuple[int, ...] = (DEFAULT_BATCH,)
    options: Mapping[str, object] = field(default_factory=dict)
    workloads: tuple[str, ...] | None = None
    repetitions: int = 1
    timeout_s: float = DEFAULT_TIMEOUT_S
    label: str | None = None
    fault: str | None = None
    trial_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings for all trials of a run.

    Attributes:
        energy: name of the energy provider, or AUTO.
        idle_s: duration of the idle baselines before and after a session; 0: no baselines.
        cores_within_ns: a trial waits up to a minute until the cores are this close to each other
            (`streamlab.lab.measure.machine.await_near`); None for no wait.
        isolation: whether trials run in processes or containers.
    """

    energy: str = AUTO
    idle_s: float = 0.0
    cores_within_ns: float | None = None
    isolation: Isolation = field(default_factory=Isolation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix; `source` names it in messages, and relative paths start at `folder`.

    Cells of the engines in `first` are measured before all other cells, workload by workload.
    """

    source: str
    folder: Path
    name: str
    workloads: tuple[WorkloadEntry, ...]
    engines: tuple[EngineEntry, ...]
    loads: tuple[LoadEntry, ...] = (LoadEntry(),)
    settings: Settings = field(default_factory=Settings)
    first: tuple[str, ...] = ()

    def workloads_of(self, engine: EngineEntry) -> tuple[WorkloadEntry, ...]:
        """Return the workloads for an engine, in order."""
        if engine.workloads is None:
            return self.workloads
        entries = [entry for pattern in engine.workloads for entry in self.matching(pattern)]
        return tuple(entry for entry in self.workloads if entry in entries)

    def matching(self, pattern: str) -> tuple[WorkloadEntry, ...]:
        """Return the workloads whose key matches a pattern; if none does, the workloads whose name matches.

        So `event_window` selects the table without a label, or all tables of the workload if all have labels.
        Tables of imported datasets have labels.
        """
        by_key = tuple(entry for entry in self.workloads if fnmatchcase(entry.key, pattern))
        return by_key or tuple(e for e in self.workloads if fnmatchcase(e.name, pattern))


def read_matrix(path: Path) -> Matrix:
    """Read a matrix file.

    Raises:
        MatrixError: the file cannot be read, is not TOML, or has bad keys or values.
    """
    return parse_matrix(read_text(path, "the matrix"), str(path), path.parent)


def parse_matrix(text: str, source: str, folder: Path | None = None) -> Matrix:
    """Parse a matrix.

    `source` names the matrix in messages. Relative paths of workloads start at `folder`, or else at
    the current folder.

    Raises:
        MatrixError: as for `read_matrix`.
    """
    content = parse_toml(text, source)
    top = TomlTable(source, "top level", content)
    run = TomlTable(source, "[run]", top.table("run"))
    workloads = top.take("workload", "[[workload]] tables", _are_tables, REQUIRED)
    engines = top.take("engine", "[[engine]] tables", _are_tables, REQUIRED)
    load = top.take("load", "a [load] table or [[load]] tables", lambda _: True, None)
    top.done()
    name = run.label("name", _name_of(source))
    repetitions = run.integer("repetitions", 1, maximum=MAX_REPETITIONS)
    timeout_s = float(run.number("timeout_s", DEFAULT_TIMEOUT_S, maximum=LONGEST_S))
    seed = run.seed(1)
    settings = _parse_settings(run)
    first = run.texts("first") or ()
    run.done()
    base = start_folder() if folder is None else folder.absolute()
    matrix = Matrix(
        source=source,
        folder=base,
        name=name,
        workloads=tuple(
            entry
            for number, table in enumerate(workloads, 1)
            for entry in _parse_workloads(
                TomlTable(source, f"[[workload]] {number}", table), seed, base
            )
        ),
        engines=tuple(
            _parse_engine(TomlTable(source, f"[[engine]] {number}", table), repetitions, timeout_s)
            for number, table in enumerate(engines, 1)
        ),
        loads=parse_loads(load, source),
        settings=settings,
        first=first,
    )
    _check_keys(matrix)
    return matrix


def _parse_settings(run: TomlTable) -> Settings:
    kind = run.choice("isolate", KINDS, PROCESS)
    container = TomlTable(run.file, "[run] container", run.table("container"))
    parts = {key: container.text(key) for key in ("image", "memory", "cpus")}
    container.done()
    present = {key: value for key, value in parts.items() if value is not None}
    if present and kind == PROCESS:
        raise run.error("container", f"is set with isolate = {kind!r}", 'isolate = "container"')
    try:
        isolation = Isolation(kind=kind, **present)
    except ValueError as error:
        raise MatrixError(f"{run.file}: [run] container, {error}") from error
    return Settings(
        energy=run.choice("energy", NAMES, AUTO),
        idle_s=float(run.number("idle_s", 0.0, least=0, maximum=LONGEST_S)),
        cores_within_ns=run.number("cores_within_ns"),
        isolation=isolation,
    )


def _parse_workloads(table: TomlTable, seed: int, folder: Path) -> tuple[WorkloadEntry, ...]:
    """Return the entries of a table: one per output of the program."""
    reference = references.absolute(table.text("name", REQUIRED), folder)
    try:
        names = {output: short_name(output) for output in outputs(reference)}
    except ModelError as error:
        raise MatrixError(f"{table.file}: {table.name}, key name: {error}") from error
    dataset = table.take(
        "dataset",
        "the beginning of a dataset's id, hex digits (`lab data list`)",
        lambda v: isinstance(v, str) and re.fullmatch("[0-9a-f]+", v) is not None,
        None,
    )
    query = table.free_table("query")
    if dataset is not None:
        for key in ("events", "params", "seed"):
            if table.take(key, "", lambda _: True, None) is not None:
                raise table.error(
                    key, "cannot be combined with dataset", "either dataset or events/params/seed"
                )
        label = table.take("label", "a label, or nothing", _is_label_or_empty, dataset[:8])
        entry = partial(WorkloadEntry, dataset=dataset, label=label or None)
    else:
        entry = partial(
            WorkloadEntry,
            events=table.integer("events", DEFAULT_EVENTS),
            params=table.free_table("params"),
            seed=table.seed(seed),
            label=table.label("label"),
        )
    table.done()
    return tuple(
        entry(name=name, reference="" if output == name else output, query=query)
        for output, name in names.items()
    )


def _is_label_or_empty(value: Any) -> bool:
    return value == "" or is_label(value)


def _parse_engine(table: TomlTable, repetitions: int, timeout_s: float) -> EngineEntry:
    entry = EngineEntry(
        name=table.text("name", REQUIRED),
        variants=table.texts("variants"),
        workers=_take_workers(table),
        batch=table.integers("batch", (DEFAULT_BATCH,)),
        options=table.free_table("options"),
        workloads=table.texts("workloads"),
        repetitions=table.integer("repetitions", repetitions, maximum=MAX_REPETITIONS),
        timeout_s=float(table.number("timeout_s", timeout_s, maximum=LONGEST_S)),
        label=table.label("label"),
        fault=table.take("fault", EXPECTED, _is_fault, None),
        trial_s=table.number("trial_s", maximum=LONGEST_S),
    )
    table.done()
    return entry


def _is_fault(value: object) -> bool:
    return isinstance(value, str) and parse_fault(value) is not None


def _take_workers(table: TomlTable) -> tuple[int, ...]:
    """Take the numbers of workers, or `DOUBLING`."""
    workers = table.integers_or("workers", DOUBLING, (1,))
    if not isinstance(workers, str):
        return workers
    cores = max(1, int(usable_cores_here()))
    return tuple(sorted({*(1 << power for power in range(cores.bit_length())), cores}))


def _check_keys(matrix: Matrix) -> None:
    keys = [entry.key for entry in matrix.workloads]
    for key in keys:
        if keys.count(key) > 1:
            raise MatrixError(
                f"{matrix.source}: {keys.count(key)} [[workload]] tables are called {key}; "
                "give each a different label"
            )
    engines = [engine.name for engine in matrix.engines]
    for name in matrix.first:
        if name not in engines:
            raise MatrixError(
                f"{matrix.source}: [run], key first has {name!r}; expected engines of the matrix: "
                f"{', '.join(dict.fromkeys(engines))}"
            )
    for number, engine in enumerate(matrix.engines, 1):
        for pattern in engine.workloads or ():
            if not matrix.matching(pattern):
                raise MatrixError(
                    f"{matrix.source}: [[engine]] {number}, key workloads has {pattern!r}, which "
                    f"matches none of {', '.join(keys)}"
                )


def _name_of(source: str) -> str:
    """Return the default name of a run: the matrix file's, reduced to allowed characters."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(source).stem)[:LONGEST_LABEL_BYTES].lstrip("-_.")
    return stem or "matrix"


def _are_tables(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) > 0 and all(isinstance(item, dict) for item in value)
    )
