"""Writes the rows of a split as runs, and the distinct texts of each run.

Texts are numbered after all splits are read.
"""

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.sorted_runs import Run, join_blocks, select_rows, write_run
from streamlab.workloads.model import ListColumn

ROW_NUMBER = "row"
"""The column with the number of each good row in its split, from 0; `Run.row_offsets` makes it global."""
RUN_ROWS = 1 << 20
"""Minimum number of rows written together as runs, unless the split ends or its columns of texts change."""


class SplitWriter:
    """Writes the rows of a split as runs.

    Attributes:
        runs: the runs of each group of rows written together, by kind.
    """

    def __init__(self, folder: Path, split: int) -> None:
        self._folder, self._split = folder, split
        self.runs: list[dict[int, Run]] = []
        self._pending: list[Mapping[str, Column | pa.Array]] = []
        self._rows = 0

    def append(self, block: "Mapping[str, Column | pa.Array]") -> None:
        """Add rows with the columns `ts`, `kind` and others. Arrow arrays hold texts or lists of texts."""
        if self._pending and _texts_in(block) != _texts_in(self._pending[0]):
            self.finish()
        self._pending.append(block)
        self._rows += len(block["ts"])
        if self._rows >= RUN_ROWS:
            self.finish()

    def finish(self) -> None:
        """Write the rows added since the last call."""
        if not self._rows:
            return
        number, texts = len(self.runs), dict[str, object]()
        blocks = [dict(block) for block in self._pending]
        for name in _texts_in(blocks[0]):
            texts[name], columns = _encode([block[name] for block in blocks])
            for block, column in zip(blocks, columns, strict=True):
                block[name] = column
        path_of_texts = texts_path(self._folder, self._split, number)
        if texts:
            path_of_texts.write_bytes(pickle.dumps(texts))
        joined = join_blocks(blocks)
        self._pending, self._rows = [], 0
        kinds = np.asarray(joined["kind"])
        columns_but_kind = {name: column for name, column in joined.items() if name != "kind"}
        runs = {}
        for kind in np.unique(kinds).tolist():
            path = run_path(self._folder, self._split, number, kind)
            mask = kinds == kind
            run = write_run(
                path, columns_but_kind if mask.all() else select_rows(columns_but_kind, mask)
            )
            offsets = {ROW_NUMBER: 0} if ROW_NUMBER in columns_but_kind else {}
            runs[kind] = replace(
                run, number_files=dict.fromkeys(texts, path_of_texts), row_offsets=offsets
            )
        self.runs.append(runs)


def _texts_in(block: "Mapping[str, Column | pa.Array]") -> list[str]:
    return [name for name, column in block.items() if isinstance(column, pa.Array)]


def _encode(parts: "list[pa.Array]") -> "tuple[pa.Array, list[Column]]":
    """Return the distinct texts of arrays of texts or of lists of texts, and the arrays with an index for each text."""
    lists = pa.types.is_list(parts[0].type)
    texts = [part.flatten() if lists else part for part in parts]
    # Encode one joined array, because Arrow drops empty arrays of a chunked array.
    encoded = pa.concat_arrays([array.cast(pa.string()) for array in texts]).dictionary_encode()
    numbers = encoded.indices.to_numpy()
    columns: list[Column] = []
    end = 0
    for part, part_texts in zip(parts, texts, strict=True):
        begin, end = end, end + len(part_texts)
        indices = numbers[begin:end]
        if lists:
            offsets = part.offsets.to_numpy().astype(np.int64)
            columns.append(ListColumn(offsets - offsets[0], indices))
        else:
            columns.append(indices)
    return encoded.dictionary, columns


def run_path(folder: Path, split: int, number: int, kind: int) -> Path:
    """Return the file of a run."""
    return folder / f"{split}.{number}.{kind}.run"


def texts_path(folder: Path, split: int, number: int) -> Path:
    """Return the file of the distinct texts of runs, by column."""
    return folder / f"{split}.{number}.texts"


def numbers_path(texts: Path, column: str) -> Path:
    """Return the file with the numbers of a column's texts."""
    return texts.with_suffix(f".{column.removeprefix('.')}.numbers")
