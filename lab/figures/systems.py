"""Defines the systems that claims compare.

A claim that compares two systems names both: `claim.between(CL, OL)`. A claim on one system (its growth,
its latency, with and without an option) names that system: `claim.of(CL)`.
If this lab lacks a system as the paper defines it, the system states why it is absent. Claims on an
absent system are not comparable, because another algorithm says nothing about the system.
A claim whose two sides have the same algorithm compares nothing; tests/lab/figures/claims.py refuses such claims.

A system that a paper runs on an engine (`engine`) runs on the same engine here, or is absent. A measured
substitute for an absent system is drawn under its own name (`stand_in`).

`reports/published/systems/<paper>.csv` has one row per system: the name that claims use, then the
attributes of `System`. Options are written `worklist: hybrid; serials: operator`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from streamlab.reports.published.facts import FOLDER, read_pairs, read_rows
from streamlab.results.errors import ResultsError

SYSTEM_COLUMNS = (
    *("system", "name", "source", "algorithm", "variant", "options"),
    *("engine", "absent", "stand_in"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One side of a claim.

    Attributes:
        name: the figure's name of the system.
        source: the authors and the place of the definition; `this lab's own` without a paper.
        algorithm: the algorithm in words; two sides with the same algorithm compare nothing.
        variant: the `engine/variant` that runs the system; empty if absent.
        options: options that turn the variant into this system.
        engine: the paper's engine in lower case, if the name refers to it; only this engine may run
            the system here.
        absent: why this lab lacks the system; empty if the system runs here.
        stand_in: the system measured in place of an absent one, in words; empty without one.
    """

    name: str
    source: str
    algorithm: str
    variant: str = ""
    options: Mapping[str, int | str] = field(default_factory=dict, hash=False)
    engine: str = ""
    absent: str = ""
    stand_in: str = ""

    def __post_init__(self) -> None:
        if not (self.name and self.source and self.algorithm):
            raise ValueError(f"{self!r} lacks a name, a source or an algorithm; give all three")
        if bool(self.variant) == bool(self.absent):
            raise ValueError(
                f"{self.name} has the variant {self.variant!r} and the reason of absence "
                f"{self.absent!r}; give exactly one of them"
            )
        if self.variant and self.engine not in ("", self.variant.partition("/")[0]):
            raise ValueError(
                f"{self.name} is a system on {self.engine}, but {self.variant} is not: give a "
                f"variant of engine {self.engine}, or state why the system is absent"
            )
        if self.stand_in and not self.absent:
            raise ValueError(
                f"{self.name} runs here, so it needs no stand-in; remove {self.stand_in!r}"
            )

    @property
    def text(self) -> str:
        """A sentence on the system, for notes."""
        absence = f"; absent: {self.absent}" if self.absent else ""
        if self.stand_in:
            absence += f"; measured in its place, and not judged: {self.stand_in}"
        return f"{self.name}: {self.algorithm} ({self.source}){absence}."


@cache
def published_systems(paper: str, folder: Path = FOLDER / "systems") -> Mapping[str, System]:
    """Read the systems of a paper's claims by the names that the claims use.

    Raises:
        ResultsError: the paper's file is missing, or a row describes no possible system.
    """
    systems = {}
    for place, row in read_rows(folder / f"{paper}.csv", SYSTEM_COLUMNS):
        try:
            key, pairs = row.pop("system"), read_pairs(row.pop("options"))
            options = {name: int(x) if x.isdecimal() else x for name, x in pairs.items()}
            systems[key] = System(**row, options=options)
        except ValueError as error:
            raise ResultsError(f"{place}: {error}") from error
    return systems


def absent(sides: Iterable[System | None]) -> str | None:
    """Return the reasons why systems of these sides are absent; None if all run here."""
    absent_systems = [side for side in sides if side is not None and side.absent]
    if not absent_systems:
        return None
    return f"opponent absent: {'; '.join(f'{side.name}: {side.absent}' for side in absent_systems)}"


def stand_in(sides: Iterable[System | None]) -> str:
    """Return the stand-ins for the absent systems of these sides, in words; empty without any."""
    return "; ".join(side.stand_in for side in sides if side is not None and side.stand_in)
