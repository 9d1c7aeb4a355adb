"""How ordered pipelines are run: the options of variant `ordered`, their defaults, what is wrong.

Names and meanings: docs/engines/multicore.md. Source: Scaling Ordered Stream Processing on
Shared-Memory Multicores, sections 3 (reordering), 4 (worklists) and 6 (schedulers).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from engines.multicore import _core
from engines.multicore.stages.columns import partitions_of
from workloads.model.pipeline import Stage

HOMED = "homed"
WORKLISTS = (HOMED, "hybrid", "partitioned", "shared")
REORDERINGS = ("nonblocking", "lock")
MOST_WINDOW = 1 << 16
MOST_GROUPS = 1 << 24
"""Groups of a partitioned operator that may be under way: window x partitions (core)."""

RECORDS_UNDER_WAY = 8192
"""Of the default window: enough for every worker to find some, little enough to stay in a cache."""
PARTITIONS_A_WORKER = 2
LEAST_WINDOW, DEFAULT_MOST_WINDOW = 16, 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """Options of a run.

    Attributes:
        scheduler: which operator a worker turns to: `ct`, `ct_input`, `lp`, `et` or `qst`.
        worklist: what waits for operators: `homed`, or as in the paper `hybrid`, `partitioned` or
            `shared`.
        reordering: `nonblocking` or `lock`.
        partitions: of all operators that hash their keys; None: as each says itself, with `homed`
            no more than two for each worker, and one for a single worker.
        slice_us: how long a worker stays at an operator.
        window: units that are under way, rounded up to a power of two; None: see `window_for`.
        ct_window_us: of `ct` and `ct_input`: the time over which they compare.
        qst_capacity: of `qst`: records that may wait between operators; None: half of the records
            that may be under way.
    """

    scheduler: str = "ct"
    worklist: str = WORKLISTS[0]
    reordering: str = REORDERINGS[0]
    partitions: int | None = None
    slice_us: int = 100
    window: int | None = None
    ct_window_us: int = 10_000
    qst_capacity: int | None = None

    def partitions_of(self, stage: Stage, workers: int) -> int:
        """Return into how many partitions the keys of an operator go; 1 without keys.

        A unit comes apart into a group for each partition that it has keys of. With a hundred
        partitions a group of a unit of 64 records has a record or two, and costs more to pass on
        than to work on; two for each of several workers still let one help another.
        """
        hashed = self.partitions
        if hashed is None and self.worklist == HOMED:
            enough = 1 if workers == 1 else PARTITIONS_A_WORKER * workers
            hashed = min(stage.partitions, enough)
        return partitions_of(stage, hashed)

    def window_for(self, workers: int, batch: int) -> int:
        """Return how many units are under way: about 8,192 records, 4 units for each worker."""
        if self.window is not None:
            return self.window
        wanted = min(RECORDS_UNDER_WAY // batch, DEFAULT_MOST_WINDOW)
        return max(LEAST_WINDOW, 4 * workers, wanted)


KINDS: Mapping[str, type[object]] = {
    "scheduler": str,
    "worklist": str,
    "reordering": str,
    "partitions": int,
    "slice_us": int,
    "window": int,
    "ct_window_us": int,
    "qst_capacity": int,
}
"""Types of the options, by name."""


def pipeline_options(given: Mapping[str, object]) -> PipelineOptions:
    """Return the options among all those that a task gives; the others by default."""
    names = {field.name for field in fields(PipelineOptions)}
    return PipelineOptions(**{k: v for k, v in given.items() if k in names})  # type: ignore[arg-type]


def wrong_options(given: Mapping[str, object]) -> str | None:
    """Return what is wrong with the values of options of the right types, or None."""
    options = pipeline_options(given)
    chosen = (
        ("scheduler", options.scheduler, _core.SCHEDULERS),
        ("worklist", options.worklist, WORKLISTS),
        ("reordering", options.reordering, REORDERINGS),
    )
    for name, value, known in chosen:
        if value not in known:
            return f"{name} is one of {', '.join(known)}, got {value!r}"
    for name in ("partitions", "slice_us", "window", "ct_window_us", "qst_capacity"):
        value = getattr(options, name)
        if value is not None and value < 1:
            return f"{name} must be at least 1, got {value}"
    if options.window is not None and options.window > MOST_WINDOW:
        return f"window must be at most {MOST_WINDOW} units, got {options.window}"
    return None
