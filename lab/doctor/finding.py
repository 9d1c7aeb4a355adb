"""Defines a finding, one line of the doctor's output."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How serious a finding is.

    With `WARN`, numbers are less reliable, or a column of the results stays empty.
    With `MISSING`, a part of the lab does not work.
    """

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one probe.

    Attributes:
        name: name of the probe, set by `checkup.examine`.
        seen: what the probe saw.
        remedy: what the user can do; empty for OK.
    """

    name: str = ""
    state: State
    seen: str
    remedy: str = ""


def ok(seen: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(state=State.OK, seen=seen)


def warn(seen: str, remedy: str) -> Finding:
    """Return a finding that makes numbers less reliable."""
    return Finding(state=State.WARN, seen=seen, remedy=remedy)


def missing(seen: str, remedy: str) -> Finding:
    """Return a finding about a missing item that the lab needs."""
    return Finding(state=State.MISSING, seen=seen, remedy=remedy)
