"""Errors of offered load. The whole tree is drawn in `lab/errors.py`."""

from lab.errors import LabError


class LoadError(LabError):
    """An offered load cannot be made from this input; the message says what would do.

    Attributes:
        feasible_eps: the highest mean rate for which the input has enough events; None where no
            rate is given (`replay`) or none would do.
    """

    def __init__(self, message: str, *, feasible_eps: float | None = None) -> None:
        super().__init__(message)
        self.feasible_eps = feasible_eps
