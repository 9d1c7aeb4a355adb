"""A table: where rows come from, and what their columns mean. Declaring one reads nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from zoneinfo import ZoneInfo

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.text.records import BadRecord
from streamlab.workloads.datasets.times import check_form
from streamlab.workloads.datasets.times.units import NAMES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

MOST_STREAMS = 1024
"""As many as generators make: each is a file, and a thread or a task in engines."""

UNITS = tuple(NAMES)
NO_COLUMN = "-"
"""In place of a column: the field is not in the table, and is 0, or an empty list, in all rows."""

FILE, ROW = "@file", "@row"
"""Columns of every table: the name of the file (or member) of a row, and its number from 1, over
all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some rows of a part.

    Attributes:
        batch: the chosen columns, in the order in which they were asked for.
        number: the number of a row, given its index in the batch, as messages name it.
        bad: texts that are no rows; they are not in the batch.
        line: int64, the first line of each row; None: rows are not lines.
        further: int64, how many lines each row has after its first; None: rows are not lines.
        empty_lines: number of empty lines outside rows.
        header_lines: number of lines of the header.
    """

    batch: "pa.RecordBatch"
    number: Callable[[int], int | str]
    bad: Sequence[BadRecord] = ()
    line: "npt.NDArray[np.int64] | None" = None
    further: "npt.NDArray[np.int64] | None" = None
    empty_lines: int = 0
    header_lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows with the same columns: a file, a member of an archive, or all that is in memory.

    Attributes:
        place: how messages call it.
        file: name of its file, without folders.
        names: of its columns, in order.
        chunks: yields the rows, given the indices of the wanted columns.
    """

    place: str
    file: str
    names: tuple[str, ...]
    chunks: Callable[[Sequence[int]], Iterator[Chunk]]


class Source(Protocol):
    """Where rows come from. May be read several times, and gives the same each time."""

    @property
    def label(self) -> str:
        """Return how people call it, in few words."""

    def files(self) -> tuple[Path, ...]:
        """Return its files, in the order in which they are read; none when it is in memory.

        Raises:
            DatasetError: there is none, or one cannot be read.
        """

    def content(self) -> str:
        """Return how files are read, or the SHA-256 of what is not in files: part of the key."""

    def beside(self, folder: Path) -> "Source":
        """Return it with relative paths taken from a folder."""

    def parts(self, at: Callable[[int], None]) -> Iterator[Part]:
        """Yield its parts; `at` is told how many bytes of all files have been read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where rows come from and what their columns mean.

    Attributes:
        source: where rows come from.
        ts: the column of event times.
        key: the column of keys, whole numbers or texts, for a keyed program.
        kind: the column with the names of kinds; or, where there is no such column, the kind of all
            rows, as is `=view` in any case. None: the program has one kind.
        columns: the column of each field of the program that is not called as the field;
            `"-"` (`NO_COLUMN`): there is none, and the field is 0, or an empty list.
        ids: fields whose texts get numbers, by a dictionary that is kept with the dataset.
        time_format: how times are written, see `times`; None: it is recognized.
        zone: IANA name of the zone of times that name none.
        unit: of event time in the dataset: `s`, `ms`, `us` or `ns`.
        streams: physical streams that each kind is dealt to, where it can be (`split`).
        max_bad: so many unreadable rows are left out; one more is an error.

    Raises:
        DatasetError: a value is out of range.
    """

    source: Source
    ts: str
    key: str | None = None
    kind: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    time_format: str | None = None
    zone: str = "UTC"
    unit: str = "ms"
    streams: int = 1
    max_bad: int = 0

    def __post_init__(self) -> None:
        where = f"table {self.source.label}"
        if not _is_whole(self.streams) or not 1 <= self.streams <= MOST_STREAMS:
            raise DatasetError(f"{where}: streams is {self.streams!r}; give 1 to {MOST_STREAMS}")
        if not _is_whole(self.max_bad) or self.max_bad < 0:
            raise DatasetError(f"{where}: max_bad is {self.max_bad!r}; give 0 or more")
        if self.unit not in UNITS:
            raise DatasetError(f"{where}: unit is {self.unit!r}; give one of {', '.join(UNITS)}")
        names = {"ts": self.ts, "key": self.key, "kind": self.kind, **self.columns}
        for role, name in names.items():
            wrong = not isinstance(name, str) or not name
            if wrong and not (name is None and role in ("key", "kind")):
                raise DatasetError(f"{where}: {role} is {name!r}; give the name of a column")
        check_form(self.time_format, f"{where}: time_format")
        try:
            ZoneInfo(self.zone)
        except (OSError, TypeError, ValueError, LookupError):
            raise DatasetError(
                f"{where}: zone is {self.zone!r}, which is not known here; give an IANA name such "
                "as Europe/Berlin, or UTC"
            ) from None

    def beside(self, folder: Path) -> "Table":
        """Return the table with relative paths taken from a folder."""
        return replace(self, source=self.source.beside(folder))

    def meaning(self) -> dict[str, Any]:
        """Return all that is said of its rows and not what they are, as JSON can hold it."""
        return {
            "ts": self.ts,
            "key": self.key,
            "kind": self.kind,
            "columns": dict(self.columns),
            "ids": list(self.ids),
            "time_format": self.time_format,
            "zone": self.zone,
            "unit": self.unit,
            "streams": self.streams,
            "max_bad": self.max_bad,
        }


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
