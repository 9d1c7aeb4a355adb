"""Defines the protocol between the lab and an engine adapter.

The entry-point group `lab.engines` names the adapter; the lab creates it without arguments.
Each trial is a fresh process that calls `unsupported`, `prepare` (not timed: load, compile, start, warm up),
`run` (timed by the lab's clock), `answer` and `close`.
To write an adapter, start from a class of `streamlab.engines.base`.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from streamlab.engines.conditions import Declared
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import (
    Columns,
    Dataflow,
    DGSProgram,
    Pipeline,
    Program,
    Query,
    Workload,
)
from streamlab.workloads.model.operators.program import arrival_tick_ns

IntArray = npt.NDArray[np.int64]

INTERFACE = 1
"""The version of this protocol. It increases when adapters of the previous version stop working or must declare
something new. An adapter without `interface` has version 1."""

ADAPTIVE = "adaptive"
FULL = "full"
BATCHINGS = (ADAPTIVE, FULL)
"""The ways in which a source splits an offered load into units of hand-over (see `OfferedLoad.batching`)."""

MODELS: Mapping[type[Program], str] = {
    DGSProgram: "DGS programs",
    Query: "queries of operators O+",
    Pipeline: "ordered pipelines",
    Dataflow: "typed dataflow graphs",
}
"""The programming models of workloads, with their names in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedLoad:
    """An open-loop load: when each event is due, independent of the engine's progress.

    Times are nanoseconds after the start of the timed part. Due times never decrease along the total order of the
    input. A source hands an event over as soon as it is due, never earlier, and never waits for the engine; its delay
    is the send lag. The engine stamps outputs with the due time of the latest input that they depend on. A stall
    therefore delays all events due meanwhile (no coordinated omission).

    Attributes:
        due_ns: per stream, int64[n]: when each event is due.
        heartbeat_ts, heartbeat_due_ns: per stream, int64[h], ascending: event times and due times of heartbeats. They
            replace the stream's own heartbeats. A heartbeat is due with the last event, of any stream, at or before its
            event time.
        warm_up_ns: outputs due before this time go to the warm-up histogram, all others to the latency histogram.
        end_ns: when the offered load ends, at or a little after the last due time.
        batching: `adaptive` hands over the events that are due, up to `Task.batch` at once; `full` waits until
            `Task.batch` events are due.
    """

    due_ns: tuple[IntArray, ...]
    heartbeat_ts: tuple[IntArray, ...]
    heartbeat_due_ns: tuple[IntArray, ...]
    warm_up_ns: int
    end_ns: int
    batching: str = ADAPTIVE


def new_topics() -> str:
    """Return a unique prefix for the names of a trial's topics."""
    return f"lab.trial.{uuid.uuid4().hex[:16]}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One workload to run on one input, with all settings.

    Attributes:
        workload: the program to run.
        dataset: the input; `dataset.load()` returns columns, `dataset.streams[i].paths` are files. `until_ts` is set
            if event time passes beyond the last event, because a load cuts the input or a query flushes its end.
        variant: one of the engine's variants.
        workers: degree of parallelism, at least 1.
        batch: events per unit of hand-over, at least 1; ignored if `Variant.uses_batch` is False.
        options: further engine options, by name.
        scratch: an empty directory for the engine's files, removed after the trial.
        load: when events are due; None for catch-up: as fast as back-pressure allows.
        expected_outputs: number of records in the right answer, to reserve memory before the clock starts; None if
            unknown.
        topics: prefix of the names of all topics that the engine creates on a broker for this task. The engine deletes
            the topics when it closes; if the engine is killed, the lab deletes them.
    """

    workload: Workload
    dataset: Dataset
    variant: str
    workers: int
    batch: int
    options: Mapping[str, object] = field(default_factory=dict)
    scratch: Path
    load: OfferedLoad | None = None
    expected_outputs: int | None = None
    topics: str = field(default_factory=new_topics)

    def __post_init__(self) -> None:
        # Set here, `until_ts` lets all engines, also of other packages, treat a flushed input as they treat a cut one.
        object.__setattr__(self, "dataset", self.dataset.flushed(self.workload.program))

    @property
    def lacks_load(self) -> str | None:
        """Why the task needs a load that it lacks, or None. Windows of arrival time need a load."""
        if self.load is not None or arrival_tick_ns(self.workload.program) is None:
            return None
        return (
            f"{self.workload.name} has windows of arrival time, and at full speed an engine decides when rows arrive; "
            "offer a load: --load rate_eps=10_000, or a table [[load]] in a matrix (docs/offered-load.md)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """States whether a declared property holds, and its cost or the reason why not."""

    holds: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way in which an engine runs workloads, e.g. Spark's `streaming` and `batch`.

    Attributes:
        name: the name in a matrix.
        summary: a one-line description for users.
        label: the engine's name in tables and charts when it runs this variant, for example `Spark streaming`; if
            empty, reports show the names of engine and variant.
        uses_batch: whether the variant uses `Task.batch`.
        takes_load: whether the variant can run at an offered rate (`Task.load`).
        stamps_arrivals: whether the variant's source sets arrival times (`Query.arrival_tick_ns`). The end of the input
            (`Dataset.until_ts`, decades later) must then cost no step per window.
        models: the programming models that the variant runs, keys of MODELS.
        lacking: workloads of these models that the variant cannot run on any input, with the reason.
        written_for: names of the only workloads that the variant runs, each by hand-written code; None if it runs any
            program of its models.
        generates: set if the variant generates its queries; it then has no `written_for`. The function returns why a
            workload has no query, worded to follow the variant's name; None if it has one.
        source: name of a load generator that several variants of the engine share; None if not shared.
        conditions: what the variant's rates include at full speed; None if not declared, so that its rates have no
            ratio to others.
        sequential: whether the variant always runs on one worker, one event after the other.
        baseline: rank as the baseline of ratios; the lowest rank among comparable cells wins. None if the variant is
            no baseline.
        options: dataclass of the variant's options, see `streamlab.engines.options`; None if it has no options.
        colour: the number of the engine's colour in all reports; None to let reports choose a free one.
    """

    name: str
    summary: str
    label: str = ""
    uses_batch: bool = False
    takes_load: bool = False
    stamps_arrivals: bool = False
    models: tuple[type[Program], ...] = tuple(MODELS)
    lacking: Mapping[str, str] = field(default_factory=dict)
    written_for: frozenset[str] | None = None
    generates: Callable[[Workload], str | None] | None = None
    source: str | None = None
    conditions: Declared | None = None
    sequential: bool = False
    baseline: int | None = None
    options: Callable[..., Any] | None = None
    colour: int | None = None

    def lacks(self, workload: Workload) -> str | None:
        """Return why the variant cannot run a workload on any input, worded to follow the variant's name; or None."""
        name, model = workload.name, type(workload.program)
        if name in self.lacking:
            return f"does not run {name}: {self.lacking[name]}"
        if model not in self.models:
            return f"runs no {MODELS[model]}"
        if arrival_tick_ns(workload.program) is not None and not self.stamps_arrivals:
            return f"does not run {name}: its source cannot set the arrival times of the windows"
        if self.written_for is not None and name not in self.written_for:
            return f"has no query for {name}; it has {', '.join(sorted(self.written_for))}"
        return None if self.generates is None else self.generates(workload)


def default_variant(
    variants: Sequence[Variant], model: type[Program], workload: str | None = None
) -> Variant:
    """Return the first variant that runs programs of a model; without any, the first of all.

    Args:
        variants: an engine's variants.
        model: the type of the workload's program.
        workload: the workload's name, to skip variants without a query for it; None to skip none.
    """
    able = [variant for variant in variants if model in variant.models]
    for variant in able:
        if workload is None or variant.written_for is None or workload in variant.written_for:
            return variant
    return (*able, *variants)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """A latency histogram as sparse (value, count) pairs, mergeable by adding counts.

    Attributes:
        values_ns: int64[k], ascending: the highest value in each bucket.
        counts: int64[k]: number of latencies in each bucket, above zero.
        definition: the start and the end of the latency, in words.
    """

    values_ns: IntArray
    counts: IntArray
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counts over time: row k covers [k, k + 1) x `step_ns` after the start of the timed part.

    Attributes:
        step_ns: width of a row; 100 ms.
        emitted: int64[k], number of events that the source handed over.
        consumed: int64[k], number of events that the engine finished.
        outputs: int64[k], number of records emitted.
        latency_p50_ns, latency_p99_ns, latency_max_ns: int64[k], median, 99th percentile and maximum of the latencies
            of the row's outputs; -1 without outputs. In some engines these latencies have an error of up to 13 %, more
            than the histogram's values.
    """

    step_ns: int
    emitted: IntArray
    consumed: IntArray
    outputs: IntArray
    latency_p50_ns: IntArray
    latency_p99_ns: IntArray
    latency_max_ns: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Reports the events that the source of an offered load sent.

    Attributes:
        events: number of events handed over by `OfferedLoad.end_ns` plus the source's lag.
        lag: per event, from its due time to its hand-over; empty for a virtual source.
        own_thread: False for a virtual source: an event is available from its due time on, without a sending thread.
    """

    events: int
    lag: Histogram
    own_thread: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconfiguration:
    """One change of an operator's instances.

    Attributes:
        at_ns: when the controller requested the change, after the start of the timed part.
        duration_ns: from the request to its completion.
        before, after: numbers of instances before and after the change.
        event_ts: the event time at which all instances switched.
        moved_bytes: size of the state that was serialised and moved; 0 where state is shared.
        active: indices of the instances after the change, ascending; empty for the first `after` instances.
    """

    at_ns: int
    duration_ns: int
    before: int
    after: int
    event_ts: int
    moved_bytes: int = 0
    active: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Elasticity:
    """Reports how an elastic operator was scaled; rows and steps are those of `Progress`.

    Attributes:
        reconfigurations: all changes, in order of time.
        instances: int64[k], number of active instances at the end of the step.
        comparisons: int64[k], number of pairs that a join compared in the step; None for other operators.
        load_cov: float64[k], coefficient of variation of the active instances' busy time in the step, in [0, inf);
            NaN without busy time.
    """

    reconfigurations: tuple[Reconfiguration, ...]
    instances: IntArray
    comparisons: IntArray | None
    load_cov: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An engine's own measurements of a run; the lab measures time, CPU and memory.

    Attributes:
        events: input events processed; the lab compares it with the dataset's number.
        latency: latencies without the warm-up. With a load, a latency is from the due time of the latest input that an
            output depends on to the output's emission. None if the engine cannot stamp its outputs.
        warm_up_latency: the same for outputs due during the warm-up; None without a load.
        service_latency: from when the engine took the input to the output's emission, which excludes waiting. It
            complements `latency` and never replaces it.
        progress: counts over time; None if not recorded.
        sent: report of the source; None without a load.
        elasticity: how the operator was scaled; None if the number of instances cannot change.
        plan: a description of the plan, if any.
        counters: engine-specific figures, by name with unit (`sync_p50_ns`).
        unsound: why the answer is right only by chance, or wrong on purpose; such a trial yields no figures.
        notices: messages to the user about how the run went.
    """

    events: int
    latency: Histogram | None = None
    warm_up_latency: Histogram | None = None
    service_latency: Histogram | None = None
    progress: Progress | None = None
    sent: Sent | None = None
    elasticity: Elasticity | None = None
    plan: str | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    unsound: str | None = None
    notices: tuple[str, ...] = ()


class Prepared(Protocol):
    """A task that is loaded, compiled, started and warm."""

    def run(self) -> Measured:
        """Run the timed part, from the first input event to the last output. Called once."""

    def answer(self) -> Columns:
        """Return all outputs, as columns of the program's output dtype, in output order.

        An engine that emits several partitions, each in its own order, merges them by event time. A row that is late
        in its partition stays late.
        """

    def close(self) -> None:
        """Stop every process and thread that the engine started. May be called twice."""


class Engine(Protocol):
    """An engine adapter."""

    name: ClassVar[str]

    def version(self) -> str:
        """Return the engine's version, for provenance."""

    def variants(self) -> tuple[Variant, ...]:
        """Return the variants; the first that runs a workload's model is its default."""

    def unsupported(self, task: Task) -> str | None:
        """Return why the task cannot be run, or None if it can. Must not start anything heavy.

        The lab has already checked the options against `Variant.options`.
        """

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the platform-independence properties PIP1, PIP2, PIP3 (DGS paper, section 4)."""

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Measure how many events/s the source of an offered load can hand over to a null engine.

        Takes about a second; call it in a separate process. Returns None if the variant takes no load, or if its source
        is virtual and therefore has no highest rate.
        """

    def prepare(self, task: Task) -> Prepared:
        """Load, compile, start and warm up; nothing here is timed.

        Raises:
            UnsupportedError: with the reason that `unsupported` returns.
            EngineError: the engine could not start; the message names the remedy.
        """


@runtime_checkable
class KeepsFolders(Protocol):
    """Extends `Engine` for engines that keep files from trial to trial."""

    def kept_folders(self) -> Sequence[Path]:
        """Return the folders that the engine keeps, e.g. for compiled code.

        A trial may write only there and to its temporary files. The trial's row names these folders.
        """
