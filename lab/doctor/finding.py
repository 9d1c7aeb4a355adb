"""Defines a finding, one line of the doctor's output."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How serious a finding is.

    `WARN`: numbers are less reliable, or a column stays empty. `MISSING`: something does not work.
    """

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one probe."""

    name: str
    state: State
    seen: str
    remedy: str = ""


def ok(name: str, seen: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(name=name, state=State.OK, seen=seen)


def warn(name: str, seen: str, remedy: str) -> Finding:
    """Return a finding that makes numbers less reliable."""
    return Finding(name=name, state=State.WARN, seen=seen, remedy=remedy)


def missing(name: str, seen: str, remedy: str) -> Finding:
    """Return a finding about a missing item that the lab needs."""
    return Finding(name=name, state=State.MISSING, seen=seen, remedy=remedy)
