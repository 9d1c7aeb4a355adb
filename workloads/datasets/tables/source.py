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
        names: the column names, in order.
        types: the type of each key in the first block of JSON lines; empty for other formats.
    """

    names: tuple[str, ...]
    types: "Mapping[str, pa.DataType]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Consecutive rows of a source.

    Attributes:
        path: the file; None if the rows are in memory.
        members: pattern that selects members of an archive.
        begin: the first byte of a text, where a line begins, or the first row group of a Parquet file. 0 if the
            split has the head of its file.
        end: the byte or row group after the last; None reads to the end of the file.
    """

    path: Path | None = None
    members: str = "*"
    begin: int = 0
    end: int | None = None

    @property
    def file(self) -> Path:
        """The file of a split that is not in memory."""
        assert self.path is not None, "the source has files"
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The position at which reading a split begins.

    Attributes:
        begin: `Split.begin`, or a later byte if the previous split's last record ends in this split.
        row: number of the first row.
        line: number of the first line of a text.
        head: the head of the text, unless the split contains it.
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
        place: the part's name in messages.
        file: name of its file, without folders.
        head: the part's columns.
        chunks: yields the rows, given the indices of the requested columns.
        end: to be called after all rows are read: returns `Split.end`, or a later byte if the last record ends there.
    """

    place: str
    file: str
    head: Head
    chunks: Callable[[Sequence[int]], Iterator[Chunk]]
    end: Callable[[], int] = int

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return self.head.names


class Splits(Protocol):
    """Rows in splits. A source can be read several times and yields the same rows each time."""

    def files(self) -> tuple[Path, ...]:
        """Return the files, in reading order; empty for a source in memory.

        Raises:
            DatasetError: no file found, or one cannot be read.
        """

    def splits(self) -> tuple[Split, ...]:
        """Return splits that cover all rows, in reading order; raises `DatasetError` as `files` does."""

    def parts(
        self, split: Split, start: Start = FIRST, report_bytes: Callable[[int], None] = ignore
    ) -> Iterator[Part]:
        """Yield the parts of a split; call `report_bytes` with the number of the split's bytes read so far."""


class Source(Splits, Protocol):
    """A source of rows of a table."""

    @property
    def label(self) -> str:
        """Return a short name for people."""

    def content(self) -> str:
        """Return the settings for reading files, or the SHA-256 of rows in memory.

        The dataset's key includes this text.
        """

    def relative_to(self, folder: Path) -> "Source":
        """Return the source with relative paths resolved against a folder."""


def first_part(source: Source) -> Part | None:
    """Return the first part of a source; None if it is empty."""
    splits = source.splits()
    return next(source.parts(splits[0]), None) if splits else None
