"""One line of the doctor's answer."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a finding stands.

    `WARN`: the lab works, but numbers suffer or a column stays empty. `MISSING`: something does
    not work.
    """

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found about one thing.

    Attributes:
        name: the thing, e.g. `governor`.
        state: how it stands.
        seen: what is there, in words, with units.
        remedy: the command or step that improves it; empty when `state` is ok.
    """

    name: str
    state: State
    seen: str
    remedy: str = ""


def ok(name: str, seen: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(name=name, state=State.OK, seen=seen)


def warn(name: str, seen: str, remedy: str) -> Finding:
    """Return a finding that makes numbers worse."""
    return Finding(name=name, state=State.WARN, seen=seen, remedy=remedy)


def missing(name: str, seen: str, remedy: str) -> Finding:
    """Return a finding without which something does not work."""
    return Finding(name=name, state=State.MISSING, seen=seen, remedy=remedy)
