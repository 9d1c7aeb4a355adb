"""The branch of the error tree (`lab/errors.py`) for the surroundings of trials."""

from streamlab.lab.errors import LabError


class IsolationError(LabError):
    """Trials cannot be kept apart as asked; the message names what is missing and its remedy."""


class DiskFullError(LabError):
    """A trial could not be recorded for lack of disk space; it is to be run again."""
