"""Errors of the data pipeline. `lab/errors.py` shows the complete tree."""


class DatasetError(Exception):
    """An input cannot be made, imported, found or read; the message states the place and the remedy."""


class DamagedError(DatasetError):
    """A file of a dataset is missing or differs from what was written; the message names it."""
