"""Describes what an engine's rate includes; only rates under equal conditions have a ratio.

Conditions describe the *input*: how many events are handed over at once, where they are when the clock starts, and
which steps on their way to the operator are timed. The output needs no conditions: for every engine the clock covers
all work until the answer is in the engine's memory.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

RECORD, BLOCK, MICRO_BATCH, WHOLE = "record", "block", "micro-batch", "whole input"
UNITS = (RECORD, BLOCK, MICRO_BATCH, WHOLE)
"""Units of hand-over."""

MEMORY, FILE, SOCKET, GENERATOR, BROKER = "memory", "file", "socket", "generator", "broker"
ORIGINS = (MEMORY, FILE, SOCKET, GENERATOR, BROKER)
"""Where the input is when the clock starts; `generator`: events are produced at an offered rate."""

READING, DECODING, PYTHON, START_UP = "reading", "decoding", "Python", "start-up"
PARTS = (READING, DECODING, PYTHON, START_UP)
"""Steps that may be timed besides the work on the events.

They are reading files, decoding them, handing events to Python (as objects, or to another process), and starting a
streaming query, threads or processes. Planning and scheduling a query over the whole input is always timed.
"""

NOTHING = "nothing"
_NO_OPTIONS: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Describes the work that a rate includes.

    Attributes:
        unit: unit of hand-over, one of UNITS; `cell_conditions` replaces it where a variant uses `Task.batch`.
        origin: where the input is when the clock starts, one of ORIGINS.
        also_timed: a subset of PARTS, in their order.

    Raises:
        ValueError: a value is not in UNITS, ORIGINS or PARTS.
    """

    unit: str
    origin: str
    also_timed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = {self.unit, self.origin, *self.also_timed} - {*UNITS, *ORIGINS, *PARTS}
        if unknown or self.unit not in UNITS or self.origin not in ORIGINS:
            raise ValueError(
                f"conditions are a unit of {UNITS}, an origin of {ORIGINS} and parts of {PARTS}; "
                f"got {self.unit!r}, {self.origin!r}, {self.also_timed!r}"
            )

    def columns(self) -> dict[str, str]:
        """Return the conditions as columns of the trial's row."""
        timed = ", ".join(part for part in PARTS if part in self.also_timed)
        return {"unit": self.unit, "origin": self.origin, "also_timed": timed or NOTHING}


Declared = Conditions | Callable[[str], Conditions]
"""A variant's conditions, or a function from a workload's name to them."""


def cell_conditions(
    declared: Declared | None,
    *,
    workload: str,
    batch: int | None,
    offered: bool,
    options: Mapping[str, object] = _NO_OPTIONS,
) -> Conditions | None:
    """Return the conditions of a cell; None if the variant declares none.

    Args:
        declared: the variant's declaration.
        workload: the workload's name.
        batch: `Task.batch`; None if the variant does not use it.
        offered: whether events come at an offered rate.
        options: the task's options. With an option `broker`, the input is on that broker.
    """
    if declared is None:
        return None
    full_speed = declared if isinstance(declared, Conditions) else declared(workload)
    unit = full_speed.unit if batch is None else RECORD if batch == 1 else BLOCK
    if options.get("broker"):
        timed = (READING, DECODING, *full_speed.also_timed)
        return Conditions(unit=unit, origin=BROKER, also_timed=timed)
    return Conditions(
        unit=unit,
        origin=GENERATOR if offered else full_speed.origin,
        also_timed=full_speed.also_timed,
    )
