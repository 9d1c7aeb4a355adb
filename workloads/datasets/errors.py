"""Errors of the data pipeline. The whole tree is drawn in `lab/errors.py`."""


class DatasetError(Exception):
    """An input cannot be made, imported, found or read; the message names place and remedy."""
