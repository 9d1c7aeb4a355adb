"""Maps a table's keys to numbers: dense whole numbers stay unchanged, others are numbered.

Engines keep state for each key up to the highest. So a few customers with ten-digit numbers
must become 0, 1, 2, ...
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
"""Numbers stay unchanged if all are below this, or below four times the number of distinct keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The mapping from keys to numbers.

    Attributes:
        count: number of the alphabet's keys.
        numberings: the dictionaries to store.
        values: the key of each number by first appearance; None: the number itself is the key.
    """

    count: int
    numberings: Mapping[str, Numbering]
    values: npt.NDArray[np.int32] | None = None

    def lookup(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the keys of numbers by first appearance."""
        return numbers if self.values is None else self.values[numbers]


def keys_of(numberings: Mapping[str, Numbering], kinds: int, label: str) -> Keys:
    """Return the mapping of keys, from all dictionaries that reading the table made.

    Raises:
        DatasetError: more keys than tags can hold.
    """
    numbering = numberings.get(KEYS)
    if numbering is None:
        return Keys(count=1, numberings=numberings)
    distinct = len(numbering)
    if distinct * kinds > 2**31 - 1:
        raise DatasetError(
            f"{label}: {distinct:,} keys x {kinds} kinds do not fit the 31 bits of a tag"
        )
    values = _dense_numbers(numbering, max(_FEW, _SPARSEST * distinct))
    if values is None or (int(values.max()) + 1) * kinds > 2**31 - 1:
        return Keys(count=distinct, numberings=numberings)
    others = {name: entry for name, entry in numberings.items() if name != KEYS}
    return Keys(count=int(values.max()) + 1, numberings=others, values=values)


def _dense_numbers(numbering: Numbering, below: int) -> npt.NDArray[np.int32] | None:
    """Return the texts as numbers; None if one is not a number or not below the limit."""
    digits = len(str(below))
    values = np.empty(len(numbering), np.int32)
    for index, text in enumerate(numbering.texts()):
        if not (text.isascii() and text.isdecimal()) or len(text) > digits:
            return None
        if str(int(text)) != text or int(text) >= below:
            return None
        values[index] = int(text)
    return values
