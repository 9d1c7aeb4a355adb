"""What the lab asks of an engine adapter.

An adapter is found through the entry-point group `lab.engines` and is created without arguments.
The lab calls it in a fresh process per trial: `unsupported`, `prepare` (not timed: load, compile,
start, warm up), then `run` (timed by the lab's own clock), `answer`, `close`.
Who writes an adapter begins with a class of `streamlab.engines.base`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

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

IntArray = npt.NDArray[np.int64]

INTERFACE = 1
"""The version of what the lab and an adapter expect of each other. Raised when an adapter that was
written for the version before could not be called any more, or could not do something new without
saying so; an adapter that says none (`interface`) is of the first."""

ADAPTIVE = "adaptive"
FULL = "full"
BATCHINGS = (ADAPTIVE, FULL)
"""How a source cuts an offered load into units of hand-over (see `OfferedLoad.batching`)."""

MODELS: Mapping[type[Program], str] = {
    DGSProgram: "DGS programs",
    Query: "queries of operators O+",
    Pipeline: "ordered pipelines",
    Dataflow: "typed dataflow graphs",
}
"""The programming models of workloads, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedLoad:
    """An open-loop load: when each event is due, whatever the engine does.

    Times are nanoseconds after the start of the timed part. Due times never decrease along the
    total order of the input. A source hands an event over as soon as it is due, never before, and
    never waits for the engine; what it hands over late is its own send lag. The engine stamps
    outputs with the due time of the latest input that they depend on, so that a stall delays all
    events due meanwhile (no coordinated omission).

    Attributes:
        due_ns: per stream, int64[n].
        heartbeat_ts, heartbeat_due_ns: per stream, int64[h] each, ascending: these replace the
            stream's own heartbeats. A heartbeat is sent no sooner than its event time has passed,
            i.e. when the last event of any stream at or before it is due.
        warm_up_ns: outputs due before this count for the warm-up histogram, the others for the
            latency.
        end_ns: when the offered load ends: the last due time, or a little later.
        batching: `adaptive` hands over what is due, up to `Task.batch` events at once; `full` waits
            until a unit of `Task.batch` events is complete.
    """

    due_ns: tuple[IntArray, ...]
    heartbeat_ts: tuple[IntArray, ...]
    heartbeat_due_ns: tuple[IntArray, ...]
    warm_up_ns: int
    end_ns: int
    batching: str = ADAPTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing to run.

    Attributes:
        workload: what to compute.
        dataset: on which input; `dataset.load()` gives columns, `dataset.streams[i].path` the
            files.
        variant: one of the engine's variants.
        workers: degree of parallelism, at least 1.
        batch: events per unit of hand-over, at least 1; engines without the notion ignore it and
            say so in `Variant.uses_batch`.
        options: further engine options, by name.
        scratch: an empty directory for the engine's files, removed after the trial.
        load: when events are due; None for catch-up: as fast as back-pressure allows.
        expected_outputs: records in the right answer, so that memory for them can be had before
            the clock starts: how many, and nothing of what is in them. None: not known.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """Whether a declared property holds, and what that costs or why it does not."""

    holds: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way in which an engine runs workloads, e.g. Spark's `streaming` and `batch`.

    Attributes:
        name: as in a matrix.
        summary: one line for people.
        uses_batch: whether `Task.batch` means something to it.
        takes_load: whether it can be driven at an offered rate (`Task.load`).
        models: the programming models that it runs, keys of MODELS.
        lacking: workloads of these models that it does not run on any input, with the reason.
        written_for: names of the only workloads that it runs, each by something written for it;
            None: it runs any program of its models.
        source: name of the generator of its offered loads, where variants of one engine share one;
            None: its own.
        conditions: what its rates include at full speed; None: not declared, and then they have
            no ratio to any other.
    """

    name: str
    summary: str
    uses_batch: bool = False
    takes_load: bool = False
    models: tuple[type[Program], ...] = tuple(MODELS)
    lacking: Mapping[str, str] = field(default_factory=dict)
    written_for: frozenset[str] | None = None
    source: str | None = None
    conditions: Declared | None = None

    def lacks(self, workload: Workload) -> str | None:
        """Return why it runs a workload on no input, to be put behind its name, or None."""
        name, model = workload.name, type(workload.program)
        if name in self.lacking:
            return f"does not run {name}: {self.lacking[name]}"
        if model not in self.models:
            return f"runs no {MODELS[model]}"
        if self.written_for is not None and name not in self.written_for:
            return f"has nothing written for {name}; it has {', '.join(sorted(self.written_for))}"
        return None


def default_variant(
    variants: Sequence[Variant], model: type[Program], workload: str | None = None
) -> Variant:
    """Return the first variant that runs programs of a model; the first of all where none does.

    Args:
        variants: of an engine.
        model: of the workload's program.
        workload: its name: variants that have nothing written for it are passed over. None: any
            that some variant has something written for.
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
        values_ns: int64[k], ascending: the highest value that each bucket stands for.
        counts: int64[k], above zero.
        definition: from what to what the latency was measured.
    """

    values_ns: IntArray
    counts: IntArray
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What happened when: row k covers [k, k + 1) x `step_ns` after the start of the timed part.

    Attributes:
        step_ns: width of a row; 100 ms.
        emitted: int64[k], events that the source handed over.
        consumed: int64[k], events that the engine was done with.
        outputs: int64[k], records emitted.
        latency_p50_ns, latency_p99_ns, latency_max_ns: int64[k], of the outputs of the row; -1
            without outputs. Coarser than the histogram (to within 13 %) where the engine says so.
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
    """What the source of an offered load did.

    Attributes:
        events: handed over by `OfferedLoad.end_ns` plus the lag that is still the source's own.
        lag: per event, from due to handed over.
        own_thread: False where the engine takes events from a virtual source (an event is there
            from its due time on, and nothing sends it); `lag` is then empty.
    """

    events: int
    lag: Histogram
    own_thread: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconfiguration:
    """One change of an operator's instances.

    Attributes:
        at_ns: when the controller called for it, after the start of the timed part.
        duration_ns: from the call to its completion.
        before, after: numbers of instances.
        event_ts: the event time at which all instances switched.
        moved_bytes: state that was serialised and moved; 0 where state is shared.
    """

    at_ns: int
    duration_ns: int
    before: int
    after: int
    event_ts: int
    moved_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Elasticity:
    """How an elastic operator was scaled; rows are those of `Progress`.

    Attributes:
        reconfigurations: in order.
        instances: int64[k], active at the end of the step.
        comparisons: int64[k], pairs that a join compared in the step; None for other operators.
        load_cov: float64[k], coefficient of variation of the active instances' busy time in the
            step, in [0, inf); NaN where nothing was done.
    """

    reconfigurations: tuple[Reconfiguration, ...]
    instances: IntArray
    comparisons: IntArray | None
    load_cov: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the engine itself can tell about a run; the lab measures time, CPU and memory.

    Attributes:
        events: input events processed; the lab compares it with the dataset's.
        latency: None when the engine cannot stamp its outputs. With a load: from the due time of
            the latest input that an output depends on to its emission, warm-up left out.
        warm_up_latency: the same for outputs due during the warm-up; None without a load.
        service_latency: from when the engine took the input to the emission: what a clock would
            show that starts when the engine is ready. Beside `latency`, never instead of it.
        progress: counts over time; None when the engine keeps none.
        sent: None without a load.
        elasticity: None where the number of instances cannot change.
        plan: the plan in words, where there is one.
        counters: engine-specific figures, by name with unit (`sync_p50_ns`).
        unsound: why the answer is right by chance only, or wrong on purpose; it gives no number.
        notices: what whoever asked for the run should know of how it went, in words.
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
        """Do the timed part, from the first input event to the last output. Called once."""

    def answer(self) -> Columns:
        """Return all outputs, as columns of the program's output dtype, in output order.

        Where outputs leave an engine in several partitions, each in its own order, the answer is
        their merge by event time: a row that left its partition late stays late.
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

    def wrong_options(self, variant: str, options: Mapping[str, object]) -> str | None:
        """Return what is wrong with options whatever they are used on, or None.

        That is an unknown name or an impossible value; the lab refuses a matrix with such a thing
        before it makes any data. What hangs on the workload, the number of workers or the load is
        for `unsupported`, which says the same of these as well.
        """

    def unsupported(self, task: Task) -> str | None:
        """Return why the task cannot be run, or None when it can. Must not start anything heavy."""

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the platform-independence properties PIP1, PIP2, PIP3 (DGS paper, section 4)."""

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Measure how many events/s the source of an offered load can hand over to a null engine.

        Takes about a second; run in a process of its own. None where the source is virtual, so that
        no rate is too high for it, or where the variant takes no load.
        """

    def prepare(self, task: Task) -> Prepared:
        """Load, compile, start and warm up; nothing here is timed.

        Raises:
            UnsupportedError: as `unsupported` would have said.
            EngineError: the engine could not be started; the message names the remedy.
        """


@runtime_checkable
class KeepsFolders(Protocol):
    """What an engine has beside `Engine` when it keeps something from trial to trial."""

    def kept_folders(self) -> Sequence[Path]:
        """Return the folders whose content it keeps, such as compiled code.

        A trial may write there and to its temporary files, and nowhere else; its row names them.
        """
