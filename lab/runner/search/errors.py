"""Errors of searches. The whole tree is drawn in `lab/errors.py`."""

from streamlab.lab.errors import LabError


class SearchError(LabError):
    """The records of a run do not fit the search that it should be; the message names the trial."""
