"""Defines the options of the Flink engine, by variant."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from msgspec import Meta

from streamlab.engines.options import options_of
from streamlab.engines.protocol import Task

LOAD_BUFFER_TIMEOUT_MS = 1
"""Flink's default of 100 ms would become the latency of a load that does not fill buffers."""

Natural = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomaticOptions:
    """Options of variant `automatic`, which docs/engines/flink.md describes.

    `buffer_timeout_ms` None means 100, or LOAD_BUFFER_TIMEOUT_MS under a load; `heap_mb` 0 fits the input.
    """

    state: Literal["heap", "rocksdb"] = "heap"
    buffer_timeout_ms: Annotated[int, Meta(ge=-1)] | None = None
    heap_mb: Natural = 0
    managed_memory_mb: Annotated[int, Meta(ge=16)] = 128
    warm_up_events: Natural = 1_000_000
    warm_up_rounds: Natural = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualOptions(AutomaticOptions):
    """Options of variant `manual`."""

    service: Literal["rmi", "memory"] = "rmi"

    def __post_init__(self) -> None:
        if self.state == "rocksdb":
            raise ValueError(
                "variant manual of flink stores its state in fields of tasks, as the paper's "
                "programs do; remove option state"
            )


def flink_options(task: Task) -> AutomaticOptions:
    """Return a task's options, with `buffer_timeout_ms` resolved."""
    options = options_of(task, ManualOptions if task.variant == "manual" else AutomaticOptions)
    if options.buffer_timeout_ms is not None:
        return options
    return replace(options, buffer_timeout_ms=100 if task.load is None else LOAD_BUFFER_TIMEOUT_MS)
