"""Parses query parameters that are lists of ids: `1,2,3`, or `all`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import ModelError

ALL = "all"


@dataclass(frozen=True, slots=True)
class Ids:
    """A set of ids.

    Attributes:
        every: whether all ids are in the set; `among` is then ignored.
        among: the ids of the set; never empty, because compiled code has no empty tuples.
    """

    every: bool
    among: tuple[int, ...]

    def mask(self, column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return, for each value of a column, whether it is in the set."""
        return np.ones(len(column), dtype=np.bool_) if self.every else np.isin(column, self.among)


def parse_ids(name: str, text: str) -> Ids:
    """Return the ids of a query parameter.

    Raises:
        ModelError: the text is neither `all` nor a comma-separated list of whole numbers.
    """
    if text.strip() == ALL:
        return Ids(True, (0,))
    try:
        return Ids(False, tuple(sorted({int(part) for part in text.split(",")})))
    except ValueError:
        raise ModelError(f"{name} is {text!r}; give ids such as 1,2,3, or {ALL}") from None
