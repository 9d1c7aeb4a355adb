"""Defines the options of the variant `ordered`; docs/engines/multicore.md explains them.

Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, sections 3 (reordering),
4 (worklists) and 6 (schedulers).
"""

from dataclasses import dataclass

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.settings import VariantOptions, check_name, choice, option
from streamlab.engines.multicore.stages.columns import partitions_of
from streamlab.workloads.model.pipeline.program import Stage

HOMED, HYBRID = _core.WORKLISTS[:2]
BY_SOURCE, BY_OPERATOR = _core.SERIALS
UNIT_WINDOWS: int = _core.UNIT_WINDOWS
"""With serials of operators: maximum number of an operator's units, in windows."""

RECORDS_UNDER_WAY = 8192
"""Records in the default window: enough work for every worker, and small enough for a cache."""
PARTITIONS_A_WORKER = 2
LEAST_WINDOW, DEFAULT_MOST_WINDOW = 16, 1024
_NUMBERS = ("partitions", "window", "ct_window_us", "qst_capacity")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedOptions(VariantOptions):
    """Options of an ordered pipeline.

    Attributes:
        scheduler: heuristic that picks a worker's next operator: `ct`, `ct_input`, `lp`, `et` or
            `qst`.
        serials: serial numbers that order the units: `source`, one for a unit and all that follows
            from it; or, as in the paper, `operator`, a new one for each operator's inputs.
        worklist: queue of waiting work: `homed`; or, as in the paper, `hybrid`, `partitioned` or
            `shared`. None means `homed`, or `hybrid` with serials of operators, which support only
            the paper's worklists.
        reordering: reordering buffer, `nonblocking` or `lock`.
        partitions: number of partitions of all operators that hash their keys. None means each
            operator's own number; with `homed` at most two per worker, and one for one worker.
        window: maximum number of units in progress, rounded up to a power of two; with serials of
            operators also the slots of each reordering buffer. None: see `window_for`.
        ct_window_us: measuring period of `ct` and `ct_input`.
        qst_capacity: for `qst`, maximum number of records waiting between operators. None means
            half of the records that may be in progress.
    """

    scheduler: str = choice(_core.SCHEDULERS)
    serials: str = choice(_core.SERIALS)
    worklist: str | None = option(None, str)
    reordering: str = choice(_core.REORDERINGS)
    partitions: int | None = option(None, int)
    window: int | None = option(None, int)
    ct_window_us: int = option(10_000)
    qst_capacity: int | None = option(None, int)

    @property
    def queue(self) -> str:
        """The worklist, with the default resolved."""
        return self.worklist or (HOMED if self.serials == BY_SOURCE else HYBRID)

    def units_for(self, window: int) -> int:
        """Return the capacity of a worklist in units."""
        windows = 1 if self.serials == BY_SOURCE else UNIT_WINDOWS
        return windows << (window - 1).bit_length()

    def partitions_of(self, stage: Stage, workers: int) -> int:
        """Return the number of partitions of an operator; 1 without keys.

        A unit is split into one group per partition. With a hundred partitions a unit of 64 records
        gives groups of one or two records, which cost more to pass on than to process. Two
        partitions per worker still let one worker help another.
        """
        hashed = self.partitions
        if hashed is None and self.queue == HOMED:
            most = 1 if workers == 1 else PARTITIONS_A_WORKER * workers
            hashed = min(stage.partitions, most)
        return partitions_of(stage, hashed)

    def window_for(self, workers: int, batch: int) -> int:
        """Return the window in units; by default about 8,192 records, and at least 4 units per worker."""
        if self.window is not None:
            return self.window
        units = min(RECORDS_UNDER_WAY // batch, DEFAULT_MOST_WINDOW)
        return max(LEAST_WINDOW, 4 * workers, units)

    def check(self) -> str | None:
        """Return why a value is invalid, or None."""
        reason = VariantOptions.check(self) or check_name("worklist", _core.WORKLISTS, self.queue)
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
