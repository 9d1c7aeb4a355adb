"""Declares import kinds: the format of their files, their columns, and the resulting dataset.

A kind's file format splits files into parts and chunks of cells, like any table
(`streamlab.workloads.datasets.tables`). Its transform computes columns from the cells of one chunk. It must not depend
on other chunks, because tasks read splits in any order, unless the kind is `sequential`. The kind's dictionaries and
streams define the dataset of these columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import Executor
from streamlab.workloads.datasets.imports.cells import Cells, Transform
from streamlab.workloads.datasets.imports.raw_files import (
    RawText,
    ReportBytesRead,
    check_readable,
    read_texts,
)
from streamlab.workloads.datasets.remedy import workload_of_input
from streamlab.workloads.datasets.stream_split import check_streams
from streamlab.workloads.datasets.stream_table import StreamTable
from streamlab.workloads.datasets.tables.files import (
    arrow_parts,
    detect_format,
    group_splits,
    parquet_parts,
    text_parts,
    text_splits,
)
from streamlab.workloads.datasets.tables.source import FIRST, Head, Part, Split, Start, ignore
from streamlab.workloads.datasets.tables.split_reader import SplitRows
from streamlab.workloads.datasets.tables.table import MAX_STREAMS
from streamlab.workloads.datasets.text.csv_text import LINE, CsvText, LineText, parse_delimiter
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.datasets.times import ColumnTimes, TimeReader, check_time_format
from streamlab.workloads.registry import workload

Settings = Mapping[str, Any]
"""Values of options by name, each checked by its `Setting`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An option of one import kind, on the command line `--<name>`.

    Attributes:
        name: the name without the dashes.
        default: the default. Other values must have the same type.
        help: one line for people.
        file: whether the value is the path of an existing file, or "" for no file.
        valid: returns whether a value is in range; None if all are.
        expected: the valid values in words.
    """

    name: str
    default: str | int | float | bool
    help: str
    file: bool = False
    valid: Callable[[Any], bool] | None = None
    expected: str = ""

    @classmethod
    def choice(cls, *, choices: Sequence[str], **others: Any) -> "Setting":
        """Return a setting with one of several values."""
        expected = " or ".join(choices) if len(choices) < 3 else f"one of {', '.join(choices)}"
        return cls(valid=choices.__contains__, expected=expected, **others)


TIME_SETTING = Setting(
    name="time",
    default="auto",
    help="Format of times: iso; s, ms, us or ns since 1970; hhmmss; or a pattern such as "
    "'%d/%m/%Y %H:%M'. auto recognizes iso and the units, not hhmmss and patterns; see `lab data import table`.",
)
"""The setting of kinds whose files may have times in several formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import.

    Attributes:
        files: raw files, in reading order.
        streams: number of physical streams to split into.
        max_bad: maximum number of bad rows to leave out.
        sort: whether to sort unsorted files by time; else they are an error.
        source: the origin of the data, for people; None if not stated.
        licence: the licence of the data; None if not stated.
        columns: the column of each role (`ImportKind.roles`).
        settings: the kind's own options, by name. `ImportKind.complete` adds defaults.
        times: the reader of event times. `ImportKind.complete` sets it by the option `time`.
    """

    files: tuple[Path, ...]
    streams: int = 1
    max_bad: int = 0
    sort: bool = False
    source: str | None = None
    licence: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)
    times: TimeReader = field(default_factory=TimeReader)


QUOTES_SETTING = Setting(
    name="no-quotes",
    default=False,
    help="In CSV, read a quote as a plain character, and every line as a row.",
)
CSV_SETTINGS = (
    Setting(
        name="delimiter",
        default=",",
        help=r"Character between CSV columns (or \t); a blank: any run of blanks and tabs.",
    ),
    QUOTES_SETTING,
)
"""Settings of kinds that read CSV."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Texts whose lines are rows with one column.

    Attributes:
        fallback: the encoding of lines that are not UTF-8. If empty, such lines are bad rows.
    """

    fallback: str = ""

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """Return the column of each role; raises `DatasetError` if one is missing."""
        return {LINE: LINE}

    def splits(self, path: Path, options: ImportOptions) -> Iterator[Split]:
        """Yield the splits of a raw file."""
        return text_splits(path)

    def parts(
        self, split: Split, options: ImportOptions, start: Start, report_bytes: ReportBytesRead
    ) -> Iterator[Part]:
        """Yield the parts of a split; call `report_bytes` with the number of bytes read."""
        return text_parts(split, start, report_bytes, self._text, read_texts(split.file))

    def _text(self, raw: RawText, head: Head | None) -> LineText:
        return LineText(raw, fallback=self.fallback)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Texts with fixed columns. Quotes are plain characters.

    Attributes:
        names: the columns, in order. A first line with these names is skipped.
        delimiter: the separator of cells.
        read: the columns to read; all if empty.
    """

    names: tuple[str, ...]
    delimiter: str
    read: tuple[str, ...] = ()

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """Return the columns to read; each column is its own role."""
        return {name: name for name in self.read or self.names}

    def splits(self, path: Path, options: ImportOptions) -> Iterator[Split]:
        """Yield the splits of a raw file."""
        return text_splits(path)

    def parts(
        self, split: Split, options: ImportOptions, start: Start, report_bytes: ReportBytesRead
    ) -> Iterator[Part]:
        """Yield the parts of a split; call `report_bytes` with the number of bytes read."""
        return text_parts(split, start, report_bytes, self._text, read_texts(split.file))

    def _text(self, raw: RawText, head: Head | None) -> CsvText:
        return CsvText(raw, self.delimiter, quoted=False, layout=self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumns:
    """CSV, Parquet or Arrow, recognized by a file's first bytes, with columns chosen by name.

    If columns of CSV are named by numbers, the first record is a row of data. Every text in an archive has its own
    first record.

    Attributes:
        role_columns: the column of each role; None if `--columns` names them.
        required_roles: roles that `--columns` must name.
        default_format: the format of files if `--columns` is missing; None if `--columns` is required.
        selects: returns whether to read a text, given its place and the options; None reads all texts.
        refusal: returns the error for a raw file without a selected text, given the places of all its texts.
    """

    role_columns: Mapping[str, str] | None = None
    required_roles: tuple[str, ...] = ()
    default_format: "Lines | None" = None
    selects: Callable[[str, ImportOptions], bool] | None = None
    refusal: Callable[[Path, ImportOptions, list[str]], DatasetError] | None = None

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """Return the column of each role; raises `DatasetError` if one is missing."""
        if self.default_format is not None and not options.columns:
            return self.default_format.columns(options)
        if self.role_columns is not None:
            return self.role_columns
        missing = [role for role in self.required_roles if role not in options.columns]
        if missing:
            raise DatasetError(
                f"--columns does not name the column of {', '.join(missing)}; give "
                f"--columns {','.join(f'{role}=...' for role in self.required_roles)}"
            )
        return options.columns

    def splits(self, path: Path, options: ImportOptions) -> Iterator[Split]:
        """Yield the splits of a raw file: row groups of Parquet, byte ranges of texts."""
        file_format = self._detect_format(path, options)
        if file_format == "parquet":
            return group_splits(path)
        return iter([Split(path=path)]) if file_format == "arrow" else text_splits(path)

    def parts(
        self, split: Split, options: ImportOptions, start: Start, report_bytes: ReportBytesRead
    ) -> Iterator[Part]:
        """Yield the parts of a split; call `report_bytes` with the number of bytes read."""
        path = split.file
        file_format = self._detect_format(path, options)
        if file_format == "lines":
            assert self.default_format is not None, "`_detect_format` checks it"
            return self.default_format.parts(split, options, start, report_bytes)
        if file_format == "parquet":
            return parquet_parts(path, split, start.row)
        if file_format == "arrow":
            return arrow_parts(path)
        delimiter = parse_delimiter(options.settings.get("delimiter", ","), "--delimiter")
        quoted = not options.settings.get("no-quotes", False)
        header = not all(name.isdecimal() for name in self.columns(options).values())

        def text(raw: RawText, head: Head | None) -> CsvText:
            return CsvText(raw, delimiter, quoted=quoted, header=header)

        return text_parts(split, start, report_bytes, text, self._selected_texts(path, options))

    def _detect_format(self, path: Path, options: ImportOptions) -> str:
        return "lines" if self.default_format and not options.columns else detect_format(path)

    def _selected_texts(self, path: Path, options: ImportOptions) -> Iterator[RawText]:
        """Yield the texts to read; raises the error of `refusal` if all texts are unselected."""
        unselected: list[str] = []
        has_selected = False
        for raw in read_texts(path):
            if self.selects is None or self.selects(raw.place, options):
                yield raw
                has_selected = True
            else:
                unselected.append(raw.place)
        if unselected and not has_selected and self.refusal is not None:
            raise self.refusal(path, options, unselected)


FileFormat = Lines | Layout | NamedColumns
"""The format of raw files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """An additional column, with a number for each text of another column. The numbers depend on all rows.

    Attributes:
        name: the additional column.
        column: the column of texts.
        numbers: returns the number (int32) of each text, given all rows, the options and the executor.
    """

    name: str
    column: str
    numbers: Callable[[SplitRows[RowReport], ImportOptions, Executor], Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportKind:
    """One kind of raw file.

    Attributes:
        name: the name on the command line, such as `access-log`.
        workload: the workload with this input (`Workload.input`).
        help: one line for people.
        check: raises `DatasetError` for invalid options, before reading.
        file_format: the format of its files.
        transform: `transform(options)` returns a function that computes `ts` and `columns` from the cells of a chunk.
            `transform` is called once for each split.
        columns: columns of a row after `ts`, as (name, name of the Arrow type).
        derive: computes the dataset's columns from `row`, `ts` and `columns`. If None, the dataset has these columns.
        lookup: an additional column; None if there is none.
        dictionaries: the dictionaries to write next to the dataset, and the column of each. Ids in order of appearance
            replace the texts, or lists of texts, of that column.
        separator: separates the part of a text that identifies it from the part for look-ups by queries.
        keys: the dictionary whose ids are the keys, or a function from complete options to the number of keys. None:
            there is one key.
        streams: `streams(options, entries)` returns the streams, in the order that breaks ties in time. `entries` is
            the number of texts of each dictionary.
        kinds: the kinds of the dataset's events.
        roles: roles that `--columns` may name.
        settings: the options of this kind.
        time: the format of times if `settings` has no option `time`.
        unit: the unit of event time since 1970; None if event time is not real time.
        sorts: whether files are always sorted, because they may be in any order.
        invents: kinds of events that the import adds, because no line of the files has them.
        sequential: whether a row depends on earlier rows. If so, one task reads all files in order.
    """

    name: str
    workload: str
    help: str
    file_format: FileFormat
    transform: Callable[[ImportOptions], Transform]
    columns: tuple[tuple[str, str], ...]
    kinds: tuple[str, ...]
    streams: Callable[[ImportOptions, Mapping[str, int]], tuple[StreamTable, ...]]
    dictionaries: Mapping[str, str] = field(default_factory=dict)
    keys: str | Callable[[ImportOptions], int] | None = None
    check: Callable[[ImportOptions], None] | None = None
    derive: "Callable[[pa.RecordBatch], pa.RecordBatch] | None" = None
    lookup: Lookup | None = None
    separator: str = ""
    roles: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    time: str = "iso"
    unit: str | None = "ms"
    sorts: bool = False
    invents: tuple[str, ...] = ()
    sequential: bool = False

    def complete(self, options: ImportOptions) -> ImportOptions:
        """Return options with absolute paths and every setting; raises `DatasetError` for invalid ones."""
        if not options.files:
            raise DatasetError("no file given; name at least one with --file")
        if not 1 <= options.streams <= MAX_STREAMS:
            raise DatasetError(f"--streams is {options.streams}; give 1 to {MAX_STREAMS}")
        check_streams(workload(workload_of_input(self.workload)).program, options.streams)
        if options.max_bad < 0:
            raise DatasetError(f"--max-bad is {options.max_bad}; give 0 or more")
        defaults = {setting.name: setting.default for setting in self.settings}
        for noun, names, verb, allowed in (
            ("column", set(options.columns), "takes", self.roles),
            ("option", set(options.settings), "has", tuple(defaults)),
        ):
            if unknown := ", ".join(sorted(names - set(allowed))):
                raise DatasetError(
                    f"import {self.name} has no {noun} {unknown}; it {verb} "
                    f"{', '.join(allowed) or 'none'}"
                )
        for setting in self.settings:
            value = options.settings.get(setting.name, setting.default)
            if setting.valid is not None and not setting.valid(value):
                raise DatasetError(f"--{setting.name} is {value!r}; give {setting.expected}")
        settings = {**defaults, **options.settings}
        files = [path.absolute() for path in options.files]
        tables = {
            s.name: Path(settings[s.name]).absolute()
            for s in self.settings
            if s.file and settings[s.name]
        }
        settings |= {name: str(path) for name, path in tables.items()}
        complete = replace(options, settings=settings)
        self.file_format.columns(complete)
        if self.check is not None:
            self.check(complete)
        for path in (*files, *tables.values()):
            check_readable(path)
        stated = settings.get(TIME_SETTING.name, self.time)
        time_format = None if stated == TIME_SETTING.default else str(stated)
        check_time_format(time_format, f"--{TIME_SETTING.name}")
        times = TimeReader(time_format, unit=self.unit or "ms")
        sort = options.sort or self.sorts
        return replace(complete, files=tuple(files), sort=sort, times=times)


def lookup_cells(file_format: FileFormat, path: Path, options: ImportOptions) -> Iterator[Cells]:
    """Yield the cells of a look-up table; call `Cells.check` on each.

    Raises:
        DatasetError: a column is missing, or the file is damaged.
    """
    columns, times = file_format.columns(options), ColumnTimes(options.times)
    for part in file_format.parts(Split(path=path), options, FIRST, ignore):
        for chunk in part.chunks(chosen_columns(part, columns)):
            yield Cells(part, chunk, tuple(columns), times)


def chosen_columns(part: Part, columns: Mapping[str, str]) -> list[int]:
    """Return the index of the column of each role; raises `DatasetError` if one is missing."""
    for role, column in columns.items():
        if part.names.count(column) != 1:
            problem = "several columns" if column in part.names else "no column"
            raise DatasetError(
                f"{part.place}: {problem} {column} for {role}; there are {', '.join(part.names)}; "
                "--columns names columns by the first line, or by number from 1 if it is not a "
                "header"
            )
    return [part.names.index(column) for column in columns.values()]
