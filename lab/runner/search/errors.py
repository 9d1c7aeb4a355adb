"""Errors of searches; `lab/errors.py` shows the whole tree."""

from streamlab.lab.errors import LabError


class SearchError(LabError):
    """A stored row does not fit its search; the message names the trial."""
