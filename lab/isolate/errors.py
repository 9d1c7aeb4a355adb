"""Errors of isolating trials; `lab/errors.py` shows the whole tree."""

from streamlab.lab.errors import LabError


class IsolationError(LabError):
    """Trials cannot be isolated; the message has the cause and the remedy."""


class DiskFullError(LabError):
    """A trial could not be recorded because a disk is full; run it again."""
