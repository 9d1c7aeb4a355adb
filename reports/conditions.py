"""Reads the conditions of a trial's rate; only rates under equal conditions have a ratio."""

from dataclasses import dataclass

from streamlab.results.schema import TrialRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of a rate, as the engine declares them (`streamlab.engines.conditions`).

    Attributes:
        unit: unit of hand-over with its size: `block of 4,096`.
        origin: place of the input when the clock started.
        also_timed: work besides the program that the clock covers.
    """

    unit: str
    origin: str
    also_timed: str

    def __str__(self) -> str:
        return f"{self.unit} from {self.origin}, also timed: {self.also_timed}"


def conditions_of(row: TrialRow) -> Conditions | None:
    """Return the conditions of a trial; None if its engine, or an older lab, declared none."""
    unit, origin, also_timed = row.unit, row.origin, row.also_timed
    if unit is None or origin is None or also_timed is None:
        return None
    sized = f"{unit} of {row.batch:,}" if unit == "block" and row.batch else unit
    return Conditions(unit=sized, origin=origin, also_timed=also_timed)
