"""Numbers texts, and writes the numbering to a dictionary file."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pq


class Numbering:
    """Numbers texts from 0: those in `first`, then others in order of appearance. Holds all distinct texts in memory.

    Args:
        first: the texts with the lowest numbers.
        separator: texts that are equal before it get the same number, and the dictionary has the first of them. If
            empty, complete texts are compared.
    """

    def __init__(self, first: Iterable[str] = (), separator: str = "") -> None:
        self._number_of = {text: number for number, text in enumerate(first)}
        self._separator = separator
        self._complete_texts: list[str] = []

    def __len__(self) -> int:
        return len(self._number_of)

    def texts(self) -> Iterator[str]:
        """Yield the texts, in order of their numbers."""
        return iter(self._complete_texts or self._number_of)

    def add(self, texts: "pa.Array") -> npt.NDArray[np.int32]:
        """Return the number of each text, after numbering new ones; -1 for null."""
        number_of, members = self._number_of, texts.to_pylist()
        if self._separator:
            return np.array([self._number_before_separator(text) for text in members], np.int32)
        ids = [
            -1 if text is None else number_of.setdefault(text, len(number_of)) for text in members
        ]
        return np.array(ids, dtype=np.int32)

    def _number_before_separator(self, text: str) -> int:
        """Return the number of the part before the separator; number and store new ones."""
        identifier = text.partition(self._separator)[0]
        number = self._number_of.setdefault(identifier, len(self._number_of))
        if number == len(self._complete_texts):
            self._complete_texts.append(text)
        return number

    def write(self, path: Path) -> str:
        """Write the dictionary as Parquet with `id` and `text`, and return the SHA-256 of its texts in hex.

        Each text is hashed after its length in bytes of UTF-8, a little-endian 8-byte number. Unlike the file's bytes,
        the hash does not depend on a library's version.
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
