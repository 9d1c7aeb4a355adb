"""Numbers texts, in order of appearance after some first ones, and writes the numbering to a dictionary file."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pq


class Numbering:
    """Numbers `first` texts, and others in order of appearance. Holds all distinct texts in memory.

    Args:
        first: the texts with the first numbers.
        separator: texts are equal if they are up to this, and the first is in the dictionary; "": whole texts.
    """

    def __init__(self, first: Iterable[str] = (), separator: str = "") -> None:
        self._known = {text: number for number, text in enumerate(first)}
        self._separator = separator
        self._whole: list[str] = []

    def __len__(self) -> int:
        return len(self._known)

    def texts(self) -> Iterator[str]:
        """Yield the texts, in order of their numbers."""
        return iter(self._whole or self._known)

    def add(self, texts: "pa.Array") -> npt.NDArray[np.int32]:
        """Return the numbers of distinct texts."""
        known, each = self._known, texts.to_pylist()
        if self._separator:
            return np.array([self._number_before_separator(text) for text in each], np.int32)
        ids = [-1 if text is None else known.setdefault(text, len(known)) for text in each]
        return np.array(ids, dtype=np.int32)

    def _number_before_separator(self, text: str) -> int:
        number = self._known.setdefault(text.partition(self._separator)[0], len(self._known))
        if number == len(self._whole):
            self._whole.append(text)
        return number

    def write(self, path: Path) -> str:
        """Write the dictionary, Parquet with `id` and `text`, and return the SHA-256 of its texts in hex.

        Each text is preceded by its length in UTF-8, a little-endian 8-byte number. Unlike the file's bytes, the hash
        does not depend on a library's version.
        """
        schema = pa.schema([("id", pa.int32()), ("text", pa.string())])
        columns: list[Any] = [
            np.arange(len(self), dtype=np.int32),
            pa.array(list(self.texts()), pa.string()),
        ]
        pq.write_table(pa.table(columns, schema=schema), path, write_page_checksum=True)
        digest = hashlib.sha256()
        for text in self.texts():
            encoded = text.encode()
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.hexdigest()
