"""Errors of gates. The whole tree is drawn in `lab/errors.py`."""

from streamlab.lab.errors import LabError


class GateError(LabError):
    """A gate cannot be held: a revision, a build, a baseline or a list of exceptions is amiss."""
