"""Keys of a table: whole numbers stay what they are where they lie close together, else numbered.

Engines keep something for each key up to the highest, so a handful of customers with numbers of ten
digits must become 0, 1, 2, ...
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.table_reader import KEYS

_SPARSEST = 4
_FEW = 1024
"""Numbers stay as they are up to this, or four times as many as there are different ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """How keys became numbers.

    Attributes:
        count: of the alphabet's keys.
        numberings: the dictionaries to keep.
        values: the key of each number by first appearance; None: the number itself is the key.
    """

    count: int
    numberings: Mapping[str, Numbering]
    values: npt.NDArray[np.int32] | None = None

    def of(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the keys of numbers by first appearance."""
        return numbers if self.values is None else self.values[numbers]


def keys_of(numberings: Mapping[str, Numbering], kinds: int, label: str) -> Keys:
    """Return the keys, given all dictionaries that were made.

    Raises:
        DatasetError: there are more than tags can hold.
    """
    numbering = numberings.get(KEYS)
    if numbering is None:
        return Keys(count=1, numberings=numberings)
    different = len(numbering)
    if different * kinds > 2**31 - 1:
        raise DatasetError(
            f"{label}: {different:,} keys x {kinds} kinds do not fit the 31 bits of a tag"
        )
    values = _close_numbers(numbering, max(_FEW, _SPARSEST * different))
    if values is None or (int(values.max()) + 1) * kinds > 2**31 - 1:
        return Keys(count=different, numberings=numberings)
    others = {name: found for name, found in numberings.items() if name != KEYS}
    return Keys(count=int(values.max()) + 1, numberings=others, values=values)


def _close_numbers(numbering: Numbering, below: int) -> npt.NDArray[np.int32] | None:
    """Return the texts as numbers, None where one is none, or is not below a limit."""
    digits = len(str(below))
    found = np.empty(len(numbering), np.int32)
    for index, text in enumerate(numbering.texts()):
        if not (text.isascii() and text.isdecimal()) or len(text) > digits:
            return None
        if str(int(text)) != text or int(text) >= below:
            return None
        found[index] = int(text)
    return found
