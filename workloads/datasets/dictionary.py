"""Numbers texts, in order of appearance after some first ones, and writes the numbering to a dictionary file."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pq
from streamlab.workloads.model import ListColumn


class Numbering:
    """Numbers `first` texts, and others in order of appearance. Holds all distinct texts in memory."""

    def __init__(self, first: Iterable[str] = ()) -> None:
        self._known = {text: number for number, text in enumerate(first)}

    def __len__(self) -> int:
        return len(self._known)

    def texts(self) -> Iterator[str]:
        """Yield the texts, in order of their numbers."""
        return iter(self._known)

    def ids(self, texts: "pa.Array") -> npt.NDArray[np.int32] | ListColumn:
        """Return the numbers of texts, or of lists of texts."""
        if pa.types.is_list(texts.type):
            offsets = texts.offsets.to_numpy().astype(np.int64)
            return ListColumn(offsets - offsets[0], self._ids(texts.flatten()))
        return self._ids(texts)

    def _ids(self, texts: "pa.Array") -> npt.NDArray[np.int32]:
        encoded = texts.dictionary_encode()  # its dictionary is in order of first appearance
        numbers: npt.NDArray[np.int32] = self.add(encoded.dictionary)[encoded.indices.to_numpy()]
        return numbers

    def add(self, texts: "pa.Array") -> npt.NDArray[np.int32]:
        """Return the numbers of distinct texts."""
        known = self._known
        ids = [known.setdefault(text, len(known)) for text in texts.to_pylist()]
        return np.array(ids, dtype=np.int32)

    def write(self, path: Path) -> str:
        """Write the dictionary, Parquet with `id` and `text`, and return the SHA-256 of its texts in hex.

        Each text is preceded by its length in UTF-8, a little-endian 8-byte number. Unlike the file's bytes, the hash
        does not depend on a library's version.
        """
        schema = pa.schema([("id", pa.int32()), ("text", pa.string())])
        columns: list[Any] = [
            np.arange(len(self), dtype=np.int32),
            pa.array(list(self._known), pa.string()),
        ]
        pq.write_table(pa.table(columns, schema=schema), path, write_page_checksum=True)
        digest = hashlib.sha256()
        for text in self._known:
            encoded = text.encode()
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.hexdigest()
