"""What the lab asks of an engine adapter.

An adapter is found through the entry-point group `lab.engines` and is created without arguments.
The lab calls it in a fresh process per trial: `unsupported`, `prepare` (not timed: load, compile,
start, warm up), then `run` (timed by the lab's own clock), `answer`, `close`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from workloads.datasets.dataset import Dataset
from workloads.model import Columns, Workload


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
    """

    workload: Workload
    dataset: Dataset
    variant: str
    workers: int
    batch: int
    options: Mapping[str, object] = field(default_factory=dict)
    scratch: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """Whether a declared property holds, and what that costs or why it does not."""

    holds: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way in which an engine runs workloads, e.g. Spark's `streaming` and `batch`."""

    name: str
    summary: str
    uses_batch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """A latency histogram as sparse (value, count) pairs, mergeable by adding counts.

    Attributes:
        values_ns: int64[k], ascending: the highest value that each bucket stands for.
        counts: int64[k], above zero.
        definition: from what to what the latency was measured.
    """

    values_ns: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the engine itself can tell about a run; the lab measures time, CPU and memory.

    Attributes:
        events: input events processed; the lab compares it with the dataset's.
        latency: None when the engine cannot stamp its outputs.
        plan: the plan in words, where there is one.
        counters: engine-specific figures, by name with unit (`sync_p50_ns`).
    """

    events: int
    latency: Histogram | None = None
    plan: str | None = None
    counters: Mapping[str, float] = field(default_factory=dict)


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
        """Return the variants, the default first."""

    def unsupported(self, task: Task) -> str | None:
        """Return why the task cannot be run, or None when it can. Must not start anything heavy."""

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the platform-independence properties PIP1, PIP2, PIP3 (DGS paper, section 4)."""

    def prepare(self, task: Task) -> Prepared:
        """Load, compile, start and warm up; nothing here is timed.

        Raises:
            UnsupportedError: as `unsupported` would have said.
            EngineError: the engine could not be started; the message names the remedy.
        """
