"""Reads CSV files as tables, in blocks: plain, gzip or xz, alone or in tar or zip archives.

A file may be larger than memory. Row numbers count from 1 and include the header and bad rows, but not empty
lines; messages add line numbers where they differ.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

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
from streamlab.workloads.datasets.tables.table import Part
from streamlab.workloads.datasets.text.csv_text import CsvText, LineText
from streamlab.workloads.datasets.text.records import Chunk


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
                        text = CsvText(raw, self.delimiter, quoted=self.quoted, header=self.header)
                        yield text_part(raw, text, at, done)
                if not matched:
                    raise DatasetError(f"{path} has no member {pattern}")
                done += path.stat().st_size


def text_part(
    raw: RawPart, text: CsvText | LineText, at: Callable[[int], None], done: int = 0
) -> Part:
    """Return a text as a part; `at` gets the bytes read, after `done` before, after each of its chunks."""
    names = text.names()

    def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
        for chunk in text.rows(len(names), chosen):
            yield chunk
            at(done + raw.at())

    return Part(place=raw.place, file=raw.name, names=names, chunks=chunks)
