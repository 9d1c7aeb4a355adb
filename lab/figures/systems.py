"""Names whose system each side of a claim is.

A claim that compares says which two systems it compares: `claim.between(CL, OL)`. One on a single
system (its growth, its latency, with and without an option) says which: `claim.of(CL)`. A side that
this lab does not have as the paper defines it is named too, with why it is absent, and its claims
are not comparable: what another algorithm does says nothing of it. Two sides that are one algorithm
compare nothing, whatever they are called: such a claim is hollow, and no claim at all.

No name is borrowed: what a paper runs on an engine (`engine`) is run here by that engine, or is
absent. What is measured in place of an absent system is drawn under its own name (`stand_in`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

OWN = "this lab's own"
"""Begins the source of a system that is of no paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One side of a claim.

    Attributes:
        name: as the figure calls it.
        source: whose it is, and where that is defined; OWN.
        algorithm: what runs here, in words; two sides with the same compare nothing.
        variant: what runs it, `engine/variant`; empty where it is absent.
        options: the options of the variant that make it this system.
        engine: the engine that runs it in the paper, in lower case, if its name refers to the
            engine; only this engine may run it here.
        absent: what this lab lacks of it; empty: it is here.
        stand_in: the system that is measured in its place, in words; empty: none.
    """

    name: str
    source: str
    algorithm: str
    variant: str = ""
    options: Mapping[str, object] = field(default_factory=dict, hash=False)
    engine: str = ""
    absent: str = ""
    stand_in: str = ""

    def __post_init__(self) -> None:
        if not (self.name and self.source and self.algorithm):
            raise ValueError(f"a system has a name, a source and an algorithm; {self!r} lacks one")
        if bool(self.variant) == bool(self.absent):
            raise ValueError(
                f"{self.name} has the variant {self.variant!r} and is absent since "
                f"{self.absent!r}: it must have one of the two, either runs here or is absent"
            )
        if self.variant and self.engine not in ("", self.variant.partition("/")[0]):
            raise ValueError(
                f"{self.name} is a system on {self.engine}, and {self.variant} is not: run it by "
                f"a variant of engine {self.engine}, or say why it is absent"
            )
        if self.stand_in and not self.absent:
            raise ValueError(f"{self.name} runs here: nothing stands in for it")

    @property
    def text(self) -> str:
        """The system in a sentence, for notes."""
        missing = f"; absent: {self.absent}" if self.absent else ""
        if self.stand_in:
            missing += f"; measured in its place, and not judged: {self.stand_in}"
        return f"{self.name}: {self.algorithm} ({self.source}){missing}."


def absent(sides: Iterable[System | None]) -> str | None:
    """Return why a claim of these sides cannot be judged; None if it can."""
    missing = [side for side in sides if side is not None and side.absent]
    if not missing:
        return None
    return f"opponent absent: {'; '.join(f'{side.name}: {side.absent}' for side in missing)}"


def stand_in(sides: Iterable[System | None]) -> str:
    """Return the systems that are measured in place of absent ones among these; empty: none."""
    return "; ".join(side.stand_in for side in sides if side is not None and side.stand_in)


def named(sides: Iterable[tuple[System | None, System | None]]) -> tuple[str, ...]:
    """Return notes on the systems of all claims, each once."""
    return tuple(dict.fromkeys(side.text for both in sides for side in both if side is not None))


def hollow(text: str, system: System | None, opponent: System | None) -> str | None:
    """Return what is wrong with the sides of a claim, in words; None where nothing is.

    Args:
        text: of the claim.
        system: of whom it is; None: it does not say.
        opponent: None: it is of one system.
    """
    if system is None:
        return f"{text!r} does not say whose systems it compares: .between(one, other) or .of(one)"
    if opponent is not None and system.algorithm == opponent.algorithm:
        return (
            f"{text!r} compares {system.name} with {opponent.name}, and both are "
            f"{system.algorithm!r}: it compares nothing"
        )
    return None
