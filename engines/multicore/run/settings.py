"""Defines the settings and options that all variants share."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from msgspec import Meta

from streamlab.engines.multicore import _core
from streamlab.engines.protocol import FULL, OfferedLoad, Task
from streamlab.workloads.control_group import most_reserved_bytes
from streamlab.workloads.model.operators.program import arrival_tick_ns

RING_BLOCKS = 64
"""Ring size at full speed."""
LOAD_RING_BLOCKS = 1 << 14
"""Ring size under a load. Blocks are small then, and a stream may wait long for the heartbeat of another stream.
A writer polls a full ring every 50 us, so 64 one-event blocks would limit the rate to 0.2 to 1 M events/s."""
UNKNOWN_ROWS = 1 << 20
"""Output rows to reserve under a load when their number is unknown.
A fresh page may stop a core of a virtual machine for tens of ms, which would dominate high percentiles of latency."""
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings of a run.

    Attributes:
        workers: number of threads, 1 to 256. Operators O+ start with this many active instances; each operator of a
            query graph has this many instances.
        batch: maximum number of events in one block.
        ring_blocks: maximum number of blocks that a source may be ahead of its slowest reader.
        pin: whether to pin threads to cores; None pins if there are several threads and a core for each.
        load: offered load; None for full speed.
        measure: whether to measure latency and progress.
        expected_outputs: number of records in the answer; None if unknown. The run reserves and touches
            their memory in advance, up to a quarter of the available memory. The run allocates memory for
            further records when it needs it (counter `outputs_grown`).
        bounds: whether users' functions check array indices; docs/performance.md states the cost.
        received: whether events arrive from outside during the run. Such a run needs a load; the load's due times only
            stamp outputs.
        arrival_tick_ns: see `Query`.
        link_rows: capacity of a link between operators in rows; None for the variant's capacity. Tests lower it.
    """

    workers: int = 1
    batch: int = 1
    ring_blocks: int = RING_BLOCKS
    pin: bool | None = None
    load: OfferedLoad | None = None
    measure: bool = True
    expected_outputs: int | None = None
    bounds: bool = True
    received: bool = False
    arrival_tick_ns: int | None = None
    link_rows: int | None = None

    def for_core(
        self,
        output: np.dtype[np.void],
        *,
        threads: int | None = None,
        max_rows: int = UNKNOWN_ROWS,
    ) -> _core.RunSettings:
        """Return the settings for the core.

        Two new threads often start on one core and share it for longer than a run takes. Therefore several threads
        start on successive cores, and stay there if there is a core for each. `threads` is the number of threads; None
        means `workers`, and 0 means more threads than cores.
        """
        available = sorted(os.sched_getaffinity(0))
        count = self.workers if threads is None else threads
        pinned = 1 < count <= len(available) if self.pin is None else self.pin
        load = self.load
        return _core.RunSettings(
            workers=self.workers,
            batch=self.batch,
            ring_blocks=self.ring_blocks,
            cores=[] if count == 1 and not pinned else available,
            pinned=pinned,
            core_count=len(available),
            load=None
            if load is None
            else (
                *(load.warm_up_ns, load.end_ns, load.batching == FULL),
                *(self.arrival_tick_ns or 0, self.received),
            ),
            reserved_rows=self.reserved_rows(output, max_rows),
            measure=self.measure,
        )

    def reserved_rows(self, output: np.dtype[np.void], max_rows: int = UNKNOWN_ROWS) -> int:
        """Return the number of output rows to reserve, limited by the available memory.

        If `expected_outputs` is None, it is `max_rows` under a load, and 0 at full speed.
        """
        rows = self.expected_outputs
        if rows is None:
            rows = 0 if self.load is None else max_rows
        return min(rows, most_reserved_bytes() // output.itemsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Options that all variants have.

    Attributes:
        broker: address of a broker to read the input from; empty if the input is in memory.
        pin, measure, bounds: see `RunSettings`.
    """

    broker: Annotated[str, Meta(min_length=1)] = ""
    pin: bool | None = None
    measure: bool = True
    bounds = True

    def resolve(self, scratch: Path) -> Self:
        """Return the options for a trial with this scratch folder."""
        return self

    def settings(self, task: Task) -> RunSettings:
        """Return the settings of a task with these options."""
        return RunSettings(
            workers=task.workers,
            batch=task.batch,
            ring_blocks=RING_BLOCKS if task.load is None else LOAD_RING_BLOCKS,
            pin=self.pin,
            load=task.load,
            measure=self.measure,
            expected_outputs=task.expected_outputs,
            bounds=self.bounds,
            arrival_tick_ns=arrival_tick_ns(task.workload.program),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledOptions(CommonOptions):
    """Options of variants that compile users' functions."""

    bounds: bool = True


def itemsizes(dtype: np.dtype[np.void]) -> list[int]:
    """Return the size of each field in bytes."""
    return [dtype[name].itemsize for name in dtype.names or ()]
