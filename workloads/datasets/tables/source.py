"""Declares sources of rows, and the splits that tasks read in parallel."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.text.records import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The columns of a part.

    Attributes:
        names: in order.
        types: of JSON lines: the type of each key, as the first block has it.
    """

    names: tuple[str, ...]
    types: "Mapping[str, pa.DataType]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Consecutive rows of a source.

    Attributes:
        path: of the file; None: in memory.
        members: the pattern of the archive's members to read.
        begin: the first byte of a text, a line's first; or the first row group of a Parquet file. 0: the split has
            the head of its file.
        end: the byte or row group after the last; None: up to the end of the file.
    """

    path: Path | None = None
    members: str = "*"
    begin: int = 0
    end: int | None = None

    @property
    def file(self) -> Path:
        """Its file."""
        assert self.path is not None, "the source is files"
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The place where the reading of a split begins.

    Attributes:
        begin: as `Split.begin`, or later: a record of the split before may end in this one.
        row: number of the first row.
        line: number of the first line of a text.
        head: of the text, if the split is not its first.
    """

    begin: int = 0
    row: int = 1
    line: int = 1
    head: Head | None = None


FIRST = Start()


def ignore(done: int) -> None:
    """Ignore the number of bytes read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows with the same columns: a split of a file, a member of an archive, or all rows in memory.

    Attributes:
        place: its name in messages.
        file: name of its file, without folders.
        head: its columns.
        chunks: yields the rows, given the indices of the requested columns.
        end: returns where its rows end, once all are read: as `Split.end`, or later.
    """

    place: str
    file: str
    head: Head
    chunks: Callable[[Sequence[int]], Iterator[Chunk]]
    end: Callable[[], int] = int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.head.names


class Splits(Protocol):
    """Rows in splits. May be read several times, and yields the same rows each time."""

    def files(self) -> tuple[Path, ...]:
        """Return its files, in reading order; empty for a source in memory.

        Raises:
            DatasetError: no file found, or one cannot be read.
        """

    def splits(self) -> tuple[Split, ...]:
        """Return splits that have all rows, in reading order; raises `DatasetError` as `files`."""

    def parts(
        self, split: Split, start: Start = FIRST, at: Callable[[int], None] = ignore
    ) -> Iterator[Part]:
        """Yield the parts of a split; call `at` with the number of bytes read of it."""


class Source(Splits, Protocol):
    """A source of rows of a table."""

    @property
    def label(self) -> str:
        """Return a short name for people."""

    def content(self) -> str:
        """Return, as part of the key, how files are read, or the SHA-256 of rows that are not in files."""

    def relative_to(self, folder: Path) -> "Source":
        """Return the source with relative paths resolved against a folder."""


def first_part(source: Source) -> Part | None:
    """Return the first part of a source; None if it is empty."""
    splits = source.splits()
    return next(source.parts(splits[0]), None) if splits else None
