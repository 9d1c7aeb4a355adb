"""Defines the error of stored results; `lab/errors.py` shows the whole error tree."""


class ResultsError(Exception):
    """A stored run is missing, damaged or of another schema version; the message names the file."""
