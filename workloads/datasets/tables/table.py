"""Declares a table: where rows come from, and what their columns mean. Declaring reads nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.lateness import DROP, ERROR, KEEP
from streamlab.workloads.datasets.tables.source import Source
from streamlab.workloads.datasets.times import check_time_format
from streamlab.workloads.datasets.times.duration import UNIT_NAMES, parse_duration
from streamlab.workloads.model.code.fingerprint import code_of

MAX_STREAMS = 1024
"""The same maximum as for generators: each stream is a file, and in engines a thread or a task."""

UNITS = tuple(UNIT_NAMES)
NO_COLUMN = "-"
"""Replaces a column name if the table lacks the field. The field is then 0 or an empty list in all rows."""

FILE, ROW = "@file", "@row"
"""`@file`: the row's file or archive member. `@row`: the row's number, from 1 across all files."""

START = "@start"
"""Time column of a table without times, such as a list of customers.

Its rows get the time of the first row of the other tables in its `TableSet`.
"""

LATE = "@late"
"""The lateness of each row (`Lateness`), in units of event time."""

BUILT_IN_COLUMNS = (FILE, ROW, START, LATE)

_FLAG_SUFFIX = "_missing"
_FACTORS = [10**digits for digits in range(1, 19)]
"""Factors of `scale`. The largest power of ten in int64 is 10^18."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A source of rows and the meaning of their columns.

    Attributes:
        source: the source of the rows.
        shared: groups of `ids` fields that share one dictionary. Declared workloads set it.
        key_fields: fields that together form the key, instead of `key`. Joins set it.
        ts: the column of event times. Several columns, such as a date and a time, are joined with a blank.
            With `@start` all rows get the time of the first row of the other tables.
        key: the column of keys (whole numbers or texts) of a keyed program.
        kind: the column with each row's kind. A name that no column has is the kind of all rows.
            `=view` is always a kind. None: the program has one kind.
        columns: the column of each field whose column has another name.
            `"-"` (`NO_COLUMN`): the table lacks the field, which is then 0 or an empty list.
        ids: fields whose texts become numbers. Their dictionary is stored with the dataset.
        first_texts: by field: texts that get the lowest numbers of its dictionary, even if no row has them.
        derive: by field: a column, and a function that computes the field from the column's text.
            It is called once for each distinct text. Its code is part of the dataset's identity.
        scale: by field: the power of ten that turns the column's decimals into exact whole numbers.
        decimal: the decimal separator of numbers in texts: `.` or `,`.
        fill: by field or `key`: the value for rows without one. Otherwise such rows are bad, unless the
            program has a bool field `FIELD_missing`. Then that field is True and the value is 0 or an empty text.
        skip_missing: fields or `key`. Rows without a value for one of them are left out and counted.
        time_format: the format of times (`streamlab.workloads.datasets.times`). None: recognize it from the data.
        zone: IANA time zone of times without a zone.
        unit: the unit of event time in the dataset: `s`, `ms`, `us` or `ns`.
        streams: number of physical streams for each kind that can be split (`stream_split`).
        max_bad: maximum number of bad rows to skip.
        out_of_order: how late a row may be, compared with the latest row read before it, such as `5 s`.
            None: no limit. Rows are always sorted by time.
        late: the treatment of rows later than `out_of_order`. `drop` leaves them out and counts them. `keep` lets
            `lab.window` decide by its `allowed_lateness`. `error` fails.

    Raises:
        DatasetError: a value is out of range.
    """

    source: Source
    ts: str | tuple[str, ...]
    key: str | None = None
    kind: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    first_texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    derive: Mapping[str, tuple[str, Callable[[str], Any]]] = field(default_factory=dict)
    scale: Mapping[str, int] = field(default_factory=dict)
    decimal: str = "."
    fill: Mapping[str, object] = field(default_factory=dict)
    skip_missing: tuple[str, ...] = ()
    time_format: str | None = None
    zone: str = "UTC"
    unit: str = "ms"
    streams: int = 1
    max_bad: int = 0
    out_of_order: str | None = None
    late: str = DROP
    shared: tuple[tuple[str, ...], ...] = ()
    key_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        where = f"table {self.source.label}"
        if not _is_integer(self.streams) or not 1 <= self.streams <= MAX_STREAMS:
            raise DatasetError(f"{where}: streams is {self.streams!r}; give 1 to {MAX_STREAMS}")
        if not _is_integer(self.max_bad) or self.max_bad < 0:
            raise DatasetError(f"{where}: max_bad is {self.max_bad!r}; give 0 or more")
        if self.unit not in UNITS:
            raise DatasetError(f"{where}: unit is {self.unit!r}; give one of {', '.join(UNITS)}")
        if self.out_of_order is not None:
            parse_duration(self.out_of_order, self.unit, f"{where}: out_of_order")
        if self.late not in (DROP, KEEP, ERROR):
            raise DatasetError(f"{where}: late is {self.late!r}; give drop, keep or error")
        if self.late != DROP and self.out_of_order is None:
            raise DatasetError(
                f"{where}: late is {self.late!r}, but out_of_order is missing, so no row is late; give "
                "out_of_order, such as '5 s'"
            )
        for role, name in self.roles().items():
            is_name = isinstance(name, str) and bool(name)
            if not is_name and not (name is None and role in ("key", "kind")):
                raise DatasetError(f"{where}: {role} is {name!r}; give the name of a column")
            if name == LATE and (role in ("ts", "key", "kind") or role in (*self.ids, *self.scale)):
                raise DatasetError(
                    f"{where}: {role} cannot be {LATE}; use {LATE} only for a field outside ids and scale"
                )
        if self.decimal not in (".", ","):
            raise DatasetError(f"{where}: decimal is {self.decimal!r}; give '.' or ','")
        for name, factor in self.scale.items():
            if not _is_integer(factor) or factor not in _FACTORS:
                raise DatasetError(
                    f"{where}: scale has {factor!r} for {name}; give a power of ten, 10 to 10^18"
                )
        for name, pair in self.derive.items():
            is_pair = isinstance(pair, tuple | list) and len(pair) == 2 and callable(pair[1])
            if not is_pair or pair[0] == LATE:
                raise DatasetError(
                    f"{where}: derive has {pair!r:.60} for {name}; give a column and a function of its "
                    'text, such as ("plan", str.lower)'
                )
        check_time_format(self.time_format, f"{where}: time_format")
        try:
            ZoneInfo(self.zone)
        except (OSError, TypeError, ValueError, LookupError):
            raise DatasetError(
                f"{where}: zone is {self.zone!r}, which this machine does not know; give an IANA name "
                "such as Europe/Berlin, or UTC"
            ) from None

    @property
    def label(self) -> str:
        """A short name for people."""
        return self.source.label

    def files(self) -> tuple[Path, ...]:
        """Return the files of the source."""
        return self.source.files()

    def relative_to(self, folder: Path) -> "Table":
        """Return the table with relative paths resolved against a folder."""
        return replace(self, source=self.source.relative_to(folder))

    def roles(self) -> dict[str, str | None]:
        """Return the column of each role and field; None if it has no column."""
        ts = self.ts if isinstance(self.ts, str) else " ".join(self.ts)
        return {"ts": ts, "key": self.key, "kind": self.kind, **self.columns}

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of event times."""
        return (self.ts,) if isinstance(self.ts, str) else self.ts

    def column_of(self, name: str) -> str:
        """Return the column of a field."""
        return self.derive[name][0] if name in self.derive else self.columns.get(name, name)

    def to_json(self) -> dict[str, object]:
        """Return all attributes except the source as JSON values."""
        # Leave out unset newer attributes, so that datasets of earlier versions stay valid.
        unset = [n for n in ("shared", "first_texts", "key_fields") if not getattr(self, n)]
        unset += ["out_of_order", "late"] if self.out_of_order is None else []
        names = (entry.name for entry in fields(self) if entry.name not in ("source", *unset))
        values = {name: getattr(self, name) for name in names}
        derive = {
            name: [column, code_of(function)] for name, (column, function) in self.derive.items()
        }
        changed = {"columns": dict(self.columns), "fill": dict(self.fill), "derive": derive}
        if self.first_texts:
            changed["first_texts"] = dict(self.first_texts)
        return {**values, **changed, "scale": dict(self.scale)}

    def max_lateness(self) -> int | None:
        """Return `out_of_order` in units of event time; None if no row is late."""
        if self.out_of_order is None:
            return None
        return parse_duration(self.out_of_order, self.unit, "out_of_order")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSet:
    """One table for each kind of a program, each with its own columns.

    Text fields with equal names share one dictionary. The keys of all tables share another.

    Attributes:
        by_kind: the table of each kind; each table's own `kind` must be None.

    Raises:
        DatasetError: a value is not a table, or the tables disagree on the unit of time.
    """

    by_kind: Mapping[str, Table]

    def __post_init__(self) -> None:
        for kind, table in self.by_kind.items():
            if not isinstance(table, Table):
                raise DatasetError(
                    f"input {kind!r} is a {type(table).__name__}; give a table for each kind, such "
                    f'as {{"{kind}": csv("{kind}.csv", ts="time")}}'
                )
            if table.kind is not None:
                raise DatasetError(
                    f"table {table.label}: kind is {table.kind!r}, but all its rows are of kind "
                    f"{kind}, because it is the input {kind!r}; leave kind out"
                )
        units = {table.unit for table in self.by_kind.values()}
        if len(units) > 1:
            raise DatasetError(
                f"tables {self.label} have the units of time {', '.join(sorted(units))}; give all "
                "tables the same unit"
            )

    @property
    def label(self) -> str:
        """A short name for people."""
        return ", ".join(table.label for table in self.by_kind.values())

    def files(self) -> tuple[Path, ...]:
        """Return the files of all tables, in reading order."""
        return tuple(file for table in self.by_kind.values() for file in table.files())

    def relative_to(self, folder: Path) -> "TableSet":
        """Return the tables with relative paths resolved against a folder."""
        return TableSet(
            by_kind={kind: table.relative_to(folder) for kind, table in self.by_kind.items()}
        )

    def with_first_texts(self, names: Iterable[str], texts: Sequence[str]) -> "TableSet":
        """Return the tables with `texts` first in the dictionaries of `names`."""
        if not texts:
            return self
        tables = {
            kind: replace(
                table, first_texts={n: tuple(texts) for n in sorted({*names} & {*table.ids})}
            )
            for kind, table in self.by_kind.items()
        }
        return TableSet(by_kind=tables)


def flagged_field(name: str, fields: Mapping[str, object]) -> str | None:
    """Return FIELD if `name` is its flag `FIELD_missing`, which marks missing values; otherwise None."""
    base = name.removesuffix(_FLAG_SUFFIX)
    return base if base != name and base in fields and fields[name] == np.bool_ else None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
