"""Errors of stored results. The whole tree is drawn in `lab/errors.py`."""


class ResultsError(Exception):
    """A stored run is missing, damaged, or of another version; the message names the file."""
