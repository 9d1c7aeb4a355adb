"""Errors of the data pipeline. The whole tree is drawn in `lab/errors.py`."""


class DatasetError(Exception):
    """An input cannot be made, imported, found or read; the message names place and remedy."""


class DamagedError(DatasetError):
    """A file of a dataset is missing, or not what was written; the message names it."""
