"""Defines the settings that all variants share, and converts them from a task and for the core."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from streamlab.engines.multicore import _core
from streamlab.engines.protocol import FULL, OfferedLoad, Task
from streamlab.workloads.control_group import most_reserved_bytes

RING_BLOCKS = 64
LOAD_RING_BLOCKS = 1 << 14
"""Ring size under a load: blocks are small, and a stream may wait long for another's heartbeat.
A writer polls a full ring every 50 us, so 64 one-event blocks would cap the rate at 0.2 to 1 M events/s."""
UNKNOWN_ROWS = 1 << 20
"""Output rows to reserve under a load when their number is unknown.
Fresh pages stop a core of a virtual machine for up to tens of ms, which would become the latency tail."""
OPTIONS: Mapping[str, type[object]] = {"pin": bool, "measure": bool}
"""Types of the options that all variants have, by name."""
BOUNDS = True
"""Whether users' functions check array indices by default; docs/performance.md states the cost."""
COMPILED_OPTIONS: Mapping[str, type[object]] = {"bounds": bool}
"""Types of the options of variants that compile users' functions, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings of a run.

    Attributes:
        workers: number of threads, 1 to 64. For operators O+: the instances active at the start.
            For query graphs: the instances of each operator.
        batch: maximum number of events in one block.
        ring_blocks: maximum number of blocks that a source may be ahead of its slowest reader.
        pin: whether to pin threads to cores; None pins if there are several threads and a core for each.
        load: offered load; None means full speed.
        measure: whether to measure latency and progress over time.
        expected_outputs: number of records in the answer; None if unknown. The run reserves and touches
            their memory in advance, up to a quarter of the available memory. Further records allocate
            during the run (counter `outputs_grown`).
        bounds: whether users' functions check array indices.
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
        """Return the settings for the core.

        Two new threads often start on one core and share it for longer than a run takes.
        So each of several threads starts on the next core, and stays there if there is a core for each.
        `threads` None means `workers`; 0 means more threads than cores.
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
        """Return the number of output rows to reserve, limited by the available memory.

        Under a load it is `most_rows` if `expected_outputs` is None.
        """
        rows = self.expected_outputs
        if rows is None:
            rows = 0 if self.load is None else most_rows
        return min(rows, most_reserved_bytes() // output.itemsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantOptions:
    """Base of the options that only one variant has; subclasses add fields by `option` and `choice`."""

    @classmethod
    def kinds(cls) -> Mapping[str, type[object]]:
        """Return the types of the options that a task may set, by name."""
        return {each.name: each.metadata["kind"] for each in fields(cls) if each.metadata}

    @classmethod
    def from_task(cls, options: Mapping[str, object]) -> Self:
        """Create the options from all options of a task, whose types are valid."""
        return cls(**{name: value for name, value in options.items() if name in cls.kinds()})

    def check(self) -> str | None:
        """Return why a value is invalid, or None."""
        for each in fields(self):
            names = each.metadata.get("names")
            if names and (reason := check_name(each.name, names, getattr(self, each.name))):
                return reason
        return None


def option(default: Any, kind: type[object] | None = None) -> Any:
    """Declare an option that a task may set; `kind` is its type if the default is None."""
    return field(default=default, metadata={"kind": kind or type(default)})


def choice(names: Sequence[str]) -> Any:
    """Declare an option that is one of several names; the first is the default."""
    return field(default=names[0], metadata={"kind": str, "names": names})


def settings_of(task: Task) -> RunSettings:
    """Return the settings of a task whose options are valid."""
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


def check_load(task: Task) -> str | None:
    """Return which option conflicts with the task's offered load, or None."""
    if task.load is not None and not task.options.get("measure", True):
        return "measure = false works only without a load; remove the option or the load"
    return None


def itemsizes(dtype: np.dtype[np.void]) -> list[int]:
    """Return the size of each field in bytes."""
    return [dtype[name].itemsize for name in dtype.names or ()]


def check_name(option: str, names: Sequence[str], value: object) -> str | None:
    """Return a message if an option's value is not one of its names, or None."""
    if value in names:
        return None
    return f"{option} is one of {', '.join(names)}, got {value!r}"
