"""Reads CSV files as tables, in blocks: plain, gzip or xz, alone or in tar or zip archives.

A file may be larger than memory. Row numbers count from 1 and include the header and bad rows, but not empty
lines; messages add line numbers where they differ.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.raw_files import Part as RawPart
from streamlab.workloads.datasets.imports.raw_files import parts
from streamlab.workloads.datasets.manifest import canonical
from streamlab.workloads.datasets.tables.file_search import (
    Paths,
    archive_of,
    find_files,
    resolve_paths,
)
from streamlab.workloads.datasets.tables.table import Chunk, Part
from streamlab.workloads.datasets.text.csv_text import CsvRows, CsvText, LineText, row_words
from streamlab.workloads.datasets.text.records import BadRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFiles:
    """CSV files.

    Attributes:
        paths: files, or globs of files; `ARCHIVE!PATTERN`: the matching members of an archive.
        delimiter: between cells; a blank: any run of blanks and tabs.
        quoted: whether cells in quotes may hold delimiters and line ends; else a quote is a character.
        header: whether the first row names the columns; else their names are 1, 2, ...
    """

    paths: Paths
    delimiter: str
    quoted: bool
    header: bool

    @property
    def label(self) -> str:
        """As `Source.label`."""
        return ", ".join(Path(path).name for path in self.paths)

    def files(self) -> tuple[Path, ...]:
        """As `Source.files`."""
        return find_files(tuple(archive_of(path)[0] for path in self.paths), folders=None)

    def content(self) -> str:
        """As `Source.content`."""
        members = [archive_of(path)[1] for path in self.paths]
        return canonical(["csv", self.delimiter, self.quoted, self.header, members])

    def relative_to(self, folder: Path) -> "TextFiles":
        """As `Source.relative_to`."""
        return replace(self, paths=resolve_paths(self.paths, folder))

    def parts(self, at: Callable[[int], None]) -> Iterator[Part]:
        """As `Source.parts`."""
        done = 0
        for spec in self.paths:
            archive, pattern = archive_of(spec)
            for path in find_files((archive,), folders=None):
                matched = False
                for raw in parts(path):
                    member = raw.place.removeprefix(f"{path}!")
                    if fnmatchcase(member, pattern):
                        matched = True
                        yield self._part(raw, partial(_report, at, raw, done))
                if not matched:
                    raise DatasetError(f"{path} has no member {pattern}")
                done += path.stat().st_size

    def _part(self, raw: RawPart, at: Callable[[], None]) -> Part:
        text = CsvText(raw, self.delimiter, quoted=self.quoted, header=self.header)
        return text_part(raw, text, at)


def text_part(raw: RawPart, text: CsvText | LineText, at: Callable[[], None]) -> Part:
    """Return a text as a part; `at` is called after each of its chunks."""
    names = text.names()

    def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
        for rows in text.rows(len(names), chosen):
            yield _chunk(rows)
            at()

    return Part(place=raw.place, file=raw.name, names=names, chunks=chunks)


def _report(at: Callable[[int], None], raw: RawPart, done: int) -> None:
    at(done + raw.at())


def _chunk(rows: CsvRows) -> Chunk:
    """Return the rows as a chunk; rows with cells that are not UTF-8 become bad ones."""
    import pyarrow as pa

    texts, wrong = [], np.zeros(len(rows.row), np.bool_)
    for column in rows.columns:
        try:
            texts.append(column.cast(pa.string()))
        except pa.ArrowInvalid:
            decoded = [_decoded(cell) for cell in column.to_pylist()]
            wrong |= np.array([text is None for text in decoded], np.bool_)
            texts.append(pa.array(decoded, pa.string()))
    row, line, further = rows.row, rows.line, rows.further
    bad = list(rows.bad)
    if wrong.any():
        numbers = (each[wrong].tolist() for each in (row, line, further))
        for first, second, third in zip(*numbers, strict=True):
            bad.append(BadRecord(first, second, third, "it is not UTF-8", b""))
        bad.sort()
        texts = [column.filter(pa.array(~wrong)) for column in texts]
        row, line, further = row[~wrong], line[~wrong], further[~wrong]
    names = [str(index) for index in range(len(texts))]
    return Chunk(
        batch=pa.RecordBatch.from_arrays(texts, names),
        number=lambda index: row_words(*(int(each[index]) for each in (row, line, further))),
        bad=bad,
        line=line,
        further=further,
        empty_lines=rows.empty_lines,
        header_lines=rows.header_lines,
    )


def _decoded(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None
