"""Defines the error of gates; `lab/errors.py` draws the whole error tree."""

from streamlab.lab.errors import LabError


class GateError(LabError):
    """A gate cannot run: a revision, a build, a baseline or a list of accepted regressions is wrong."""
