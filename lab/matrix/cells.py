"""Expands a matrix into cells, and orders their trials."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from streamlab.engines import conditions
from streamlab.engines.conditions import Conditions
from streamlab.engines.options import OptionError, check_options
from streamlab.engines.protocol import Engine, Variant, default_variant
from streamlab.engines.registry import engine as find_engine
from streamlab.json_value import JsonValue
from streamlab.lab.errors import MatrixError
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.matrix.load_table import LoadEntry, SearchSettings
from streamlab.lab.matrix.matrix import EngineEntry, Matrix, WorkloadEntry
from streamlab.lab.trial.spec import EngineTrial
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.name_suggestions import suggest_names

CELL = "cell"
"""Purpose of a trial outside a search; `streamlab.lab.runner.search.state` has the purposes within a search."""

MAX_TRIALS = 1_000_000
"""Limit for a matrix, not counting searches: a million trials of one second take twelve days."""

LONGEST_SLUG_BYTES = 150
"""A file name has at most 255 bytes: repetition, purpose and suffixes take up to 60 bytes, and the hash takes 13."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of the matrix: a workload on an engine's variant, with workers, batch, options and load.

    Attributes:
        id: unique name in the matrix.
        entry: the workload and its input.
        engine, variant, workers, options, repetitions, timeout_s: as in the matrix.
        batch: events handed over together; None if the variant has no batches.
        load: the offered load; None for catch-up. In a search its rate is None.
        load_label: last part of the id, or None.
        search: settings of the search for the rate; None if the matrix sets the rate.
        refusal: why the cell cannot run; None if the cell can run.
        conditions: what the rate includes; None if the variant does not declare conditions.
        fault: fault to cause in the cluster in each trial; None for no fault.
        part: number of the part of the run; all cells of a part are measured before the next part.
        trial_s: approximate duration of a trial in seconds; None if unknown.
    """

    id: str
    entry: WorkloadEntry
    engine: str
    variant: str
    workers: int
    batch: int | None
    options: Mapping[str, object]
    repetitions: int
    timeout_s: float
    load: LoadSpec | None = None
    load_label: str | None = None
    search: SearchSettings | None = None
    refusal: str | None = None
    conditions: Conditions | None = None
    fault: str | None = None
    part: int = 0
    trial_s: float | None = None

    @property
    def query(self) -> Mapping[str, object]:
        """Return all query parameters of the workload; may be empty."""
        return self.entry.bound().query_params

    @property
    def slug(self) -> str:
        """Return the id as a file name; a hash replaces the end of a long id."""
        name = self.id.replace("/", "__")
        if len(name.encode()) <= LONGEST_SLUG_BYTES:
            return name
        prefix = name.encode()[:LONGEST_SLUG_BYTES].decode(errors="ignore")
        return f"{prefix}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"

    def job(self, dataset: Dataset, load: LoadSpec | None, **attributes: Any) -> EngineTrial:
        """Return the job of a trial on an input under a load, with further attributes of `EngineTrial`."""
        return EngineTrial(
            engine=self.engine,
            variant=self.variant,
            workers=self.workers,
            batch=self.batch or 1,
            options=self.options,
            dataset=dataset,
            workload=self.entry.workload_override(dataset),
            query=self.query,
            load=load,
            **attributes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One measurement in a fresh process: a repetition of a cell, or a vote of a search.

    Attributes:
        purpose: CELL, or the purpose of a search's probe.
        probe, vote: numbers within a search, from 1; None outside a search.
        rate_eps: the rate that a search probes; None outside a search.
    """

    cell: Cell
    repetition: int
    order_index: int
    purpose: str = CELL
    probe: int | None = None
    vote: int | None = None
    rate_eps: float | None = None

    @property
    def name(self) -> str:
        """Return the stem of all file names of this trial."""
        if self.probe is None:
            return f"{self.cell.slug}-r{self.repetition}"
        return f"{self.cell.slug}-p{self.probe}-{self.purpose}-v{self.vote}"

    @property
    def load(self) -> LoadSpec | None:
        """Return the load of this trial; None for catch-up."""
        if self.cell.load is None or self.rate_eps is None:
            return self.cell.load
        return msgspec.structs.replace(self.cell.load, rate_eps=self.rate_eps)


def expand(matrix: Matrix, only: Sequence[str] = ()) -> tuple[Cell, ...]:
    """Return the cells of a matrix, workload by workload.

    `only` has patterns on cell ids; if empty, all cells are returned.

    Raises:
        MatrixError: a variant is unknown, an engine rejects an option, there are too many trials, two cells
            have the same id, or a pattern matches no cell.
        EngineError: an engine is unknown.
        ModelError: a workload is unknown or a query parameter is bad.
    """
    adapters = {entry.name: find_engine(entry.name) for entry in matrix.engines}
    cells = [
        cell
        for entry in matrix.workloads
        for number, engine in enumerate(matrix.engines, 1)
        if entry in matrix.workloads_of(engine)
        for variant in _variants(matrix, number, engine, entry, adapters[engine.name])
        for load in _loads(matrix, entry, engine, variant)
        for cell in _cells(entry, engine, variant, load, _part(matrix, entry, engine))
    ]
    trials = sum(cell.repetitions for cell in cells)
    if trials > MAX_TRIALS:
        raise MatrixError(
            f"{matrix.source}: {len(cells)} cells make {trials:,} trials; a run has at most "
            f"{MAX_TRIALS:,}: reduce repetitions, workers or batches"
        )
    _check_loads(matrix, {name: adapter.variants() for name, adapter in adapters.items()})
    if twice := [id_ for id_, count in Counter(cell.id for cell in cells).items() if count > 1]:
        raise MatrixError(
            f"{matrix.source}: two cells are called {twice[0]}; give one of their [[engine]] "
            "or [[load]] tables a label"
        )
    for pattern in only:
        if not any(fnmatchcase(cell.id, pattern) for cell in cells):
            raise MatrixError(
                f"{matrix.source}: --only {pattern!r} matches no cell; see `lab run --dry-run`"
            )
    return tuple(cell for cell in cells if _matches(only or None, cell.id))


def interleave(cells: Sequence[Cell]) -> tuple[Trial, ...]:
    """Order the trials of each part ABBA: repetition by repetition, every second repetition backwards.

    So a linear drift of the machine affects all cells alike; in the order AAABBB, drift would favour some cells.
    """
    trials: list[Trial] = []
    for part in sorted({cell.part for cell in cells}):
        members = [cell for cell in cells if cell.part == part]
        for repetition in range(1, max(cell.repetitions for cell in members) + 1):
            row = [cell for cell in members if cell.repetitions >= repetition]
            for cell in row if repetition % 2 else reversed(row):
                trials.append(Trial(cell=cell, repetition=repetition, order_index=len(trials)))
    return tuple(trials)


def describe(cell: Cell) -> dict[str, JsonValue]:
    """Return a cell's definition as JSON values; to resume a run, the definitions must be equal."""
    entry = cell.entry
    workload: dict[str, object] = {"name": entry.name}
    if entry.dataset is not None:
        workload["dataset"] = entry.dataset
    else:
        workload |= {"events": entry.events, "params": dict(entry.params), "seed": entry.seed}
    content = {
        "workload": workload,
        "engine": cell.engine,
        "variant": cell.variant,
        "workers": cell.workers,
        "batch": cell.batch,
        "options": dict(cell.options),
        "repetitions": cell.repetitions,
        "timeout_s": cell.timeout_s,
        "load": None if cell.load is None else msgspec.structs.asdict(cell.load),
        "search": None if cell.search is None else asdict(cell.search),
    }
    if cell.fault is not None:
        content["fault"] = cell.fault
    if cell.query:  # leaving out an empty query keeps fingerprints of older runs valid
        content["query"] = dict(cell.query)
    # TOML values that JSON lacks, such as dates, become text, so that both sides of a comparison agree.
    definition: dict[str, JsonValue] = json.loads(json.dumps(content, default=str))
    return definition


def _variants(
    matrix: Matrix, number: int, engine: EngineEntry, entry: WorkloadEntry, adapter: Engine
) -> tuple[Variant, ...]:
    """Return the variants of an [[engine]] table, after checking its options."""
    place = f"{matrix.source}: [[engine]] {number}"
    by_name = {variant.name: variant for variant in adapter.variants()}
    for name in engine.variants or ():
        if name not in by_name:
            raise MatrixError(
                f"{place}, key variants has {name!r}, but engine {engine.name} has no such variant; "
                f"{suggest_names(name, by_name, 'lab list engines')}"
            )
    if engine.variants is None:
        bound = entry.bound()
        variants: tuple[Variant, ...] = (
            default_variant(tuple(by_name.values()), type(bound.program), bound.name),
        )
    else:
        variants = tuple(by_name[name] for name in engine.variants)
    for variant in variants:
        try:
            check_options(adapter, variant, engine.options)
        except OptionError as error:
            raise MatrixError(f"{place}, key options: {error}") from error
    return variants


def _loads(
    matrix: Matrix, entry: WorkloadEntry, engine: EngineEntry, variant: Variant
) -> list[LoadEntry]:
    """Return the [load] tables for a workload and a variant of an engine."""
    return [
        load
        for load in matrix.loads
        if _matches(load.workloads, entry.name, entry.key)
        and _matches(load.engines, engine.name, f"{engine.name}/{variant.name}")
    ]


def _matches(patterns: Sequence[str] | None, *names: str) -> bool:
    return patterns is None or any(
        fnmatchcase(name, pattern) for name in names for pattern in patterns
    )


def _check_loads(matrix: Matrix, variants: Mapping[str, tuple[Variant, ...]]) -> None:
    """Raise an error for patterns of loads that match nothing."""
    workloads = [name for entry in matrix.workloads for name in (entry.name, entry.key)]
    engines = [
        name
        for engine, available in variants.items()
        for name in (engine, *(f"{engine}/{variant.name}" for variant in available))
    ]
    for number, load in enumerate(matrix.loads, 1):
        sides = (("workloads", load.workloads, workloads), ("engines", load.engines, engines))
        for key, patterns, names in sides:
            for pattern in patterns or ():
                if not _matches((pattern,), *names):
                    place = "[load]" if len(matrix.loads) == 1 else f"[[load]] {number}"
                    raise MatrixError(
                        f"{matrix.source}: {place}, key {key} has {pattern!r}, which "
                        f"matches none of {', '.join(dict.fromkeys(names))}"
                    )


def _part(matrix: Matrix, entry: WorkloadEntry, engine: EngineEntry) -> int:
    """Return the part of the run that measures a workload on an engine."""
    if engine.name in matrix.first:
        return matrix.workloads.index(entry)
    return len(matrix.workloads) if matrix.first else 0


def _cells(
    entry: WorkloadEntry, engine: EngineEntry, variant: Variant, load: LoadEntry, part: int
) -> Iterator[Cell]:
    """Yield the cells of one variant on one workload: one for each load, number of workers and batch."""
    batches: tuple[int | None, ...] = engine.batch if variant.uses_batch else (None,)
    for label, spec in load.offers:
        refusal = None
        if spec is not None and not variant.takes_load:
            refusal = (
                f"{engine.name}/{variant.name} cannot be driven at an offered rate; exclude it "
                "with `engines` in [load]"
            )
        for workers in engine.workers:
            for batch in batches:
                name = f"{entry.key}/{engine.name}/{variant.name}/w{workers}"
                labels = (None if batch is None else f"b{batch}", engine.label, label)
                yield Cell(
                    id="/".join([name, *filter(None, labels)]),
                    entry=entry,
                    engine=engine.name,
                    variant=variant.name,
                    workers=workers,
                    batch=batch,
                    options=engine.options,
                    repetitions=1 if refusal else engine.repetitions,
                    timeout_s=engine.timeout_s,
                    load=spec,
                    load_label=label,
                    search=load.search,
                    refusal=refusal,
                    conditions=conditions.cell_conditions(
                        variant.conditions,
                        workload=entry.name,
                        batch=batch,
                        offered=spec is not None,
                        options=engine.options,
                    ),
                    fault=engine.fault,
                    part=part,
                    trial_s=engine.trial_s,
                )
