"""How ordered pipelines are run: the options of variant `ordered`, their defaults, what is wrong.

Names and meanings: docs/engines/multicore.md. Source: Scaling Ordered Stream Processing on
Shared-Memory Multicores, sections 3 (reordering), 4 (worklists) and 6 (schedulers).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.settings import OwnOptions, wrong_name
from streamlab.engines.multicore.stages.columns import partitions_of
from streamlab.workloads.model.pipeline.program import Stage

HOMED: str = _core.WORKLISTS[0]
HYBRID: str = _core.WORKLISTS[1]
BY_SOURCE: str = _core.SERIALS[0]
BY_OPERATOR: str = _core.SERIALS[1]
UNIT_WINDOWS: int = _core.UNIT_WINDOWS
"""Units of an operator that numbers its own, in windows."""

RECORDS_UNDER_WAY = 8192
"""Of the default window: enough for every worker to find some, little enough to stay in a cache."""
PARTITIONS_A_WORKER = 2
LEAST_WINDOW, DEFAULT_MOST_WINDOW = 16, 1024
_NUMBERS = ("partitions", "window", "ct_window_us", "qst_capacity")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedOptions(OwnOptions):
    """Options of a run.

    Attributes:
        scheduler: which operator a worker turns to: `ct`, `ct_input`, `lp`, `et` or `qst`.
        serials: by which units are put in order: `source`, one for a unit and all that follows from
            it, or as in the paper `operator`, a fresh one for each operator's inputs.
        worklist: what waits for operators: `homed`, or as in the paper `hybrid`, `partitioned` or
            `shared`; None: `homed`, and with serials of operators, which have the paper's only,
            `hybrid`.
        reordering: `nonblocking` or `lock`.
        partitions: of all operators that hash their keys; None: as each says itself, with `homed`
            no more than two for each worker, and one for a single worker.
        window: units that are under way, rounded up to a power of two, and with serials of
            operators the slots of each reordering buffer; None: see `window_for`.
        ct_window_us: of `ct` and `ct_input`: the time over which they compare.
        qst_capacity: of `qst`: records that may wait between operators; None: half of the records
            that may be under way.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "scheduler": str,
        "serials": str,
        "worklist": str,
        "reordering": str,
        **dict.fromkeys(_NUMBERS, int),
    }

    scheduler: str = _core.SCHEDULERS[0]
    serials: str = BY_SOURCE
    worklist: str | None = None
    reordering: str = _core.REORDERINGS[0]
    partitions: int | None = None
    window: int | None = None
    ct_window_us: int = 10_000
    qst_capacity: int | None = None

    @property
    def queue(self) -> str:
        """Which worklist it is."""
        return self.worklist or (HOMED if self.serials == BY_SOURCE else HYBRID)

    def units_for(self, window: int) -> int:
        """Return how many units a worklist has room for."""
        windows = 1 if self.serials == BY_SOURCE else UNIT_WINDOWS
        return windows << (window - 1).bit_length()

    def partitions_of(self, stage: Stage, workers: int) -> int:
        """Return into how many partitions the keys of an operator go; 1 without keys.

        A unit comes apart into a group for each partition that it has keys of. With a hundred
        partitions a group of a unit of 64 records has a record or two, and costs more to pass on
        than to work on; two for each of several workers still let one help another.
        """
        hashed = self.partitions
        if hashed is None and self.queue == HOMED:
            enough = 1 if workers == 1 else PARTITIONS_A_WORKER * workers
            hashed = min(stage.partitions, enough)
        return partitions_of(stage, hashed)

    def window_for(self, workers: int, batch: int) -> int:
        """Return how many units are under way: about 8,192 records, 4 units for each worker."""
        if self.window is not None:
            return self.window
        wanted = min(RECORDS_UNDER_WAY // batch, DEFAULT_MOST_WINDOW)
        return max(LEAST_WINDOW, 4 * workers, wanted)

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        reason = (
            wrong_name("scheduler", _core.SCHEDULERS, self.scheduler)
            or wrong_name("serials", _core.SERIALS, self.serials)
            or wrong_name("worklist", _core.WORKLISTS, self.queue)
            or wrong_name("reordering", _core.REORDERINGS, self.reordering)
        )
        if reason is not None:
            return reason
        if self.serials == BY_OPERATOR and self.queue == HOMED:
            papers = ", ".join(name for name in _core.WORKLISTS if name != HOMED)
            return f"serials {BY_OPERATOR!r} go with the worklists {papers}, not {HOMED}"
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and value < 1:
                return f"{name} must be at least 1, got {value}"
        if self.window is not None and self.window > _core.MOST_WINDOW:
            return f"window must be at most {_core.MOST_WINDOW} units, got {self.window}"
        return None
