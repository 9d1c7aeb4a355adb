"""Lists of ids as query parameters: `1,2,3`, or `all`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import ModelError

ALL = "all"


@dataclass(frozen=True, slots=True)
class Ids:
    """Which ids are wanted.

    Attributes:
        every: whether all are; then `among` says nothing.
        among: the wanted ones; never empty, as compiled code has no empty tuples.
    """

    every: bool
    among: tuple[int, ...]

    def mask(self, column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which values of a column are wanted."""
        return np.ones(len(column), dtype=np.bool_) if self.every else np.isin(column, self.among)


def parse_ids(name: str, text: str) -> Ids:
    """Return the ids of a query parameter.

    Raises:
        ModelError: it is neither `all` nor whole numbers with commas between them.
    """
    if text.strip() == ALL:
        return Ids(True, (0,))
    try:
        return Ids(False, tuple(sorted({int(part) for part in text.split(",")})))
    except ValueError:
        raise ModelError(f"{name} is {text!r}; give ids such as 1,2,3, or {ALL}") from None
