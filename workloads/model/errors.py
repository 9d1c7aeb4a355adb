"""Errors of the programming models. The whole tree is drawn in `lab/errors.py`."""


class ModelError(Exception):
    """A program, plan, stream or parameter is malformed; the message names the remedy."""


class ProgramError(ModelError):
    """A DGS program is malformed or breaks one of its declared laws."""


class PlanError(ModelError):
    """A synchronization plan is not valid for its program (Definition 3.2 of the DGS paper)."""
