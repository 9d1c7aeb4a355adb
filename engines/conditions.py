"""Under which conditions an engine's rate is measured: only rates under equal ones make a ratio.

What counts is the way of the *input*: how much of it is handed over at once, where it lies when the
clock starts, and what of its way to the operator the clock covers. The way of the answer is inside
every engine's clock up to the memory where the engine keeps it.
"""

from collections.abc import Callable
from dataclasses import dataclass

RECORD, BLOCK, MICRO_BATCH, WHOLE = "record", "block", "micro-batch", "whole input"
UNITS = (RECORD, BLOCK, MICRO_BATCH, WHOLE)
"""Units of hand-over."""

MEMORY, FILE, SOCKET, GENERATOR = "memory", "file", "socket", "generator"
ORIGINS = (MEMORY, FILE, SOCKET, GENERATOR)
"""Where the input is when the clock starts; `generator`: it comes into being at an offered rate."""

READING, DECODING, PYTHON, START_UP = "reading", "decoding", "Python", "start-up"
PARTS = (READING, DECODING, PYTHON, START_UP)
"""What a clock may cover besides the work on the events: reading files, decoding them, handing
events to Python (as objects, or to another process), and starting a streaming query, threads or
processes. Planning a query over the whole input and scheduling its jobs is work that an engine
chose to do, in Polars as in Spark, and is inside every clock."""

NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a rate includes.

    Attributes:
        unit: of hand-over, one of UNITS; where a variant uses `Task.batch`, `of` says it instead.
        origin: where the input is when the clock starts, one of ORIGINS.
        also_timed: of PARTS, in their order.

    Raises:
        ValueError: a word that is none of these.
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
        """Return the columns of the trial's row."""
        timed = ", ".join(part for part in PARTS if part in self.also_timed)
        return {"unit": self.unit, "origin": self.origin, "also_timed": timed or NOTHING}


Declared = Conditions | Callable[[str], Conditions]
"""A variant's conditions; a function where they depend on the workload, whose name it takes."""


def of(
    declared: Declared | None, *, workload: str, batch: int | None, offered: bool
) -> Conditions | None:
    """Return the conditions of a cell; None where the variant declares none.

    Args:
        declared: by the variant, at full speed.
        workload: its name.
        batch: events per unit of hand-over; None where the variant has no such notion.
        offered: whether the events come at an offered rate.
    """
    if declared is None:
        return None
    found = declared if isinstance(declared, Conditions) else declared(workload)
    unit = found.unit if batch is None else RECORD if batch == 1 else BLOCK
    return Conditions(
        unit=unit,
        origin=GENERATOR if offered else found.origin,
        also_timed=found.also_timed,
    )
