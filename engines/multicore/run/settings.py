"""What every run is given, whatever its family: how a task says it, and how the core takes it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from streamlab.engines.available_memory import most_reserved_bytes
from streamlab.engines.multicore import _core
from streamlab.engines.protocol import FULL, OfferedLoad, Task

RING_BLOCKS = 64
LOAD_RING_BLOCKS = 1 << 14
"""With a load: small blocks come one by one, and a stream may wait long for another's heartbeat. A
full ring is looked at every 50 us: 64 blocks of one event were 0.2 to 1 M events/s."""
UNKNOWN_ROWS = 1 << 20
"""With a load: output rows for which memory is touched where nobody knows how many there will be.
Fresh pages stop a core of a virtual machine for up to tens of milliseconds, which would be the tail
of the latency."""
OPTIONS: Mapping[str, type[object]] = {"pin": bool, "measure": bool}
"""Types of the options that all variants have, by name."""
BOUNDS = True
"""Users' functions check the indices of arrays; docs/performance.md has what that costs."""
COMPILED_OPTIONS: Mapping[str, type[object]] = {"bounds": bool}
"""Of those that compile users' functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings of a run.

    Attributes:
        workers: threads, 1 to 64; of operators O+ the instances that are active at the start, in
            query graphs the instances of each operator.
        batch: events that are handed over at once, at most.
        ring_blocks: blocks that a source may be ahead of its slowest reader.
        pin: whether to pin threads to cores; None: where there is a core for each of several.
        load: when records are due; None: all at once.
        measure: False leaves out latency and counts over time.
        expected_outputs: records in the answer, for which memory is there, and touched, before the
            run, up to a quarter of the memory available; None: not known. More of them are paid
            for during the run (`outputs_grown`).
        bounds: whether users' functions check the indices of arrays.
    """

    workers: int = 1
    batch: int = 1
    ring_blocks: int = RING_BLOCKS
    pin: bool | None = None
    load: OfferedLoad | None = None
    measure: bool = True
    expected_outputs: int | None = None
    bounds: bool = BOUNDS

    def for_core(
        self,
        output: np.dtype[np.void],
        *,
        threads: int | None = None,
        most_rows: int = UNKNOWN_ROWS,
    ) -> _core.RunSettings:
        """Return the settings as the core takes them.

        Two new threads often start on one core and take turns there for longer than a run. So of
        several each begins on the next core, and is pinned to it where there is a core for each.

        Args:
            output: what the answer's records are.
            threads: how many there are; None: as many as workers; 0: too many to have cores.
            most_rows: see `reserved_rows`.
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
            load=None if load is None else (load.warm_up_ns, load.end_ns, load.batching == FULL),
            reserved_rows=self.reserved_rows(output, most_rows),
            measure=self.measure,
        )

    def reserved_rows(self, output: np.dtype[np.void], most_rows: int = UNKNOWN_ROWS) -> int:
        """Return for how many output rows memory is touched, as far as the machine has it.

        Args:
            output: what the answer's records are.
            most_rows: where it is not known how many there will be, and there is a load.
        """
        wanted = self.expected_outputs
        if wanted is None:
            wanted = 0 if self.load is None else most_rows
        return min(wanted, most_reserved_bytes() // output.itemsize)


class OwnOptions:
    """Options that a family has beside those of all; a frozen dataclass with defaults."""

    KINDS: ClassVar[Mapping[str, type[object]]] = {}
    """Types of those that a task may give, by name."""

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """Return the options among all those that a task gives, of the right types."""
        return cls(**{name: value for name, value in given.items() if name in cls.KINDS})

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        return None


def settings_of(task: Task) -> RunSettings:
    """Return the settings that a task asks for, by its options, which have been checked."""
    pin = task.options.get("pin")
    return RunSettings(
        workers=task.workers,
        batch=task.batch,
        ring_blocks=RING_BLOCKS if task.load is None else LOAD_RING_BLOCKS,
        pin=None if pin is None else bool(pin),
        load=task.load,
        measure=bool(task.options.get("measure", True)),
        expected_outputs=task.expected_outputs,
        bounds=bool(task.options.get("bounds", BOUNDS)),
    )


def wrong_under_load(task: Task) -> str | None:
    """Return what an offered load forbids, or None."""
    if task.load is not None and not task.options.get("measure", True):
        return "measure = false is for catch-up: an offered load is there to be measured"
    return None


def itemsizes(dtype: np.dtype[np.void]) -> list[int]:
    """Return the bytes of each field."""
    return [dtype[name].itemsize for name in dtype.names or ()]


def wrong_name(option: str, names: Sequence[str], given: object) -> str | None:
    """Return that an option is none of its names, or None."""
    if given in names:
        return None
    return f"{option} is one of {', '.join(names)}, got {given!r}"
