"""Declares import kinds: the format of their files, their columns, and the dataset that they become.

A kind's form splits files into parts and chunks of cells, like any table
(`streamlab.workloads.datasets.tables`). Its transform makes columns of a chunk, from this chunk alone, as tasks read
splits in any order, unless the kind is `sequential`. Its dictionaries and streams define the dataset of these columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import Executor
from streamlab.workloads.datasets.imports.cells import Cells, Transform
from streamlab.workloads.datasets.imports.raw_files import At, check_readable, parts
from streamlab.workloads.datasets.imports.raw_files import Part as RawPart
from streamlab.workloads.datasets.remedy import workload_of_input
from streamlab.workloads.datasets.stream_split import check_streams
from streamlab.workloads.datasets.stream_table import StreamTable
from streamlab.workloads.datasets.tables.files import (
    arrow_parts,
    form_of,
    group_splits,
    parquet_parts,
    text_parts,
    text_splits,
)
from streamlab.workloads.datasets.tables.source import FIRST, Head, Part, Split, Start, ignore
from streamlab.workloads.datasets.tables.split_reader import SplitRows
from streamlab.workloads.datasets.tables.table import MOST_STREAMS
from streamlab.workloads.datasets.text.csv_text import LINE, CsvText, LineText, parse_delimiter
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.datasets.times import ColumnTimes, TimeReader, check_form
from streamlab.workloads.registry import workload

Settings = Mapping[str, Any]
"""Values of options by name, each checked by its `Setting`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An option of one kind, on the command line `--<name>`.

    Attributes:
        name: without the dashes.
        default: the default; a value must have the same type.
        help: one line for people.
        file: whether it names a file, which must exist; "" for none.
        valid: whether a value is in range; None: all are.
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
"""For the `settings` of kinds whose files have times in several formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import.

    Attributes:
        files: raw files, read in this order.
        streams: number of physical streams to split into.
        max_bad: number of bad rows to leave out; one more fails.
        sort: sort by time instead of refusing unsorted files.
        source: where the data comes from, for people; None: not stated.
        licence: of the data; None: not stated.
        columns: for CSV, the column of each role (`ImportKind.roles`).
        settings: the kind's own options, by name; complete after `ImportKind.complete`.
        times: reads event times; `ImportKind.complete` sets it according to the option `time`.
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
        fallback: the encoding of lines that are not UTF-8; "": such lines are bad rows.
    """

    fallback: str = ""

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """Return the column of each role; raises `DatasetError` if one is missing."""
        return {LINE: LINE}

    def splits(self, path: Path, options: ImportOptions) -> Iterator[Split]:
        """Yield the splits of a raw file."""
        return text_splits(path)

    def parts(self, split: Split, options: ImportOptions, start: Start, at: At) -> Iterator[Part]:
        """Yield the parts of a split; call `at` with the number of bytes read."""
        return text_parts(split, start, at, self._text, parts(split.file))

    def _text(self, raw: RawPart, head: Head | None) -> LineText:
        return LineText(raw, fallback=self.fallback)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Texts with the same columns in the same order; quotes are plain characters.

    Attributes:
        names: of the columns; a first line with these names is skipped.
        delimiter: between cells.
        read: the columns to read; (): all.
    """

    names: tuple[str, ...]
    delimiter: str
    read: tuple[str, ...] = ()

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """As `Lines.columns`."""
        return {name: name for name in self.read or self.names}

    def splits(self, path: Path, options: ImportOptions) -> Iterator[Split]:
        """As `Lines.splits`."""
        return text_splits(path)

    def parts(self, split: Split, options: ImportOptions, start: Start, at: At) -> Iterator[Part]:
        """As `Lines.parts`."""
        return text_parts(split, start, at, self._text, parts(split.file))

    def _text(self, raw: RawPart, head: Head | None) -> CsvText:
        return CsvText(raw, self.delimiter, quoted=False, layout=self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumns:
    """CSV, Parquet or Arrow, recognized by a file's first bytes, with columns chosen by name.

    In CSV, columns may be numbers; then the first record is a row. Every text in an archive has
    its own first record.

    Attributes:
        role_columns: the column of each role; None: `--columns` names them.
        required_roles: roles that `--columns` must name.
        default_form: the form of files if `--columns` is missing; None: `--columns` is required.
        selects: whether to read a text, given the options.
        refusal: the error for a raw file without any selected text, given the places of all texts.
    """

    role_columns: Mapping[str, str] | None = None
    required_roles: tuple[str, ...] = ()
    default_form: "Lines | None" = None
    selects: Callable[[str, ImportOptions], bool] | None = None
    refusal: Callable[[Path, ImportOptions, list[str]], DatasetError] | None = None

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """As `Lines.columns`."""
        if self.default_form is not None and not options.columns:
            return self.default_form.columns(options)
        if self.role_columns is not None:
            return self.role_columns
        missing = [role for role in self.required_roles if role not in options.columns]
        if missing:
            raise DatasetError(
                f"--columns does not say which column is {', '.join(missing)}; give "
                f"--columns {','.join(f'{role}=...' for role in self.required_roles)}"
            )
        return options.columns

    def splits(self, path: Path, options: ImportOptions) -> Iterator[Split]:
        """As `Lines.splits`; of Parquet, row groups."""
        form = self._form(path, options)
        if form == "parquet":
            return group_splits(path)
        return iter([Split(path=path)]) if form == "arrow" else text_splits(path)

    def parts(self, split: Split, options: ImportOptions, start: Start, at: At) -> Iterator[Part]:
        """As `Lines.parts`."""
        path = split.file
        form = self._form(path, options)
        if form == "lines":
            assert self.default_form is not None, "it is the form"
            return self.default_form.parts(split, options, start, at)
        if form == "parquet":
            return parquet_parts(path, split, start.row)
        if form == "arrow":
            return arrow_parts(path)
        delimiter = parse_delimiter(options.settings.get("delimiter", ","), "--delimiter")
        quoted = not options.settings.get("no-quotes", False)
        header = not all(name.isdecimal() for name in self.columns(options).values())

        def text(raw: RawPart, head: Head | None) -> CsvText:
            return CsvText(raw, delimiter, quoted=quoted, header=header)

        return text_parts(split, start, at, text, self._selected_parts(path, options))

    def _form(self, path: Path, options: ImportOptions) -> str:
        return "lines" if self.default_form and not options.columns else form_of(path)

    def _selected_parts(self, path: Path, options: ImportOptions) -> Iterator[RawPart]:
        others: list[str] | None = []
        for raw in parts(path):
            if self.selects is None or self.selects(raw.place, options):
                yield raw
                others = None
            elif others is not None:
                others.append(raw.place)
        if others and self.refusal is not None:
            raise self.refusal(path, options, others)


Form = Lines | Layout | NamedColumns
"""The format of raw files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A column of numbers that all rows give to texts.

    Attributes:
        name: of the column.
        column: of the texts.
        numbers: returns the number of each text, an int32, given all rows, the options, and the executor.
    """

    name: str
    column: str
    numbers: Callable[[SplitRows[RowReport], ImportOptions, Executor], Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportKind:
    """One kind of raw file.

    Attributes:
        name: on the command line, e.g. `access-log`.
        workload: the workload with this input (`Workload.input`).
        help: one line for people.
        check: refuses invalid options before reading; raises `DatasetError`.
        form: the format of its files.
        transform: `transform(options)` returns a function from the cells of a chunk to `ts` and the columns of
            `columns`; called once per split.
        columns: columns of a row after `ts`, as (name, Arrow type name).
        derive: makes the columns of the dataset from `row`, `ts` and `columns` of a block; None: from `columns` alone.
        lookup: a further column; None without one.
        dictionaries: the dictionaries to write next to the dataset, and the column of each: of texts, or of
            lists of texts, which ids replace by first appearance.
        separator: splits a text of a dictionary into the part that identifies it and the part for `lookup`.
        keys: the dictionary whose ids are the keys, or a function from complete options to the number of
            keys; None: one key.
        streams: `streams(options, entries)` returns the streams, in order of ties; `entries` is
            the number of texts in each dictionary.
        kinds: of the dataset's events.
        roles: what `--columns` may name, if the kind reads CSV.
        settings: the options of this kind.
        time: the format of times if `settings` has no `time`.
        unit: the unit of event time since 1970; None: event time is not real time.
        sorts: whether its files may be in any order, and are always sorted.
        invents: kinds of events that the import adds, because no line of the files has them.
        sequential: whether a row depends on rows before it; then one task reads all files in their order.
    """

    name: str
    workload: str
    help: str
    form: Form
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
        if not 1 <= options.streams <= MOST_STREAMS:
            raise DatasetError(f"--streams is {options.streams}; give 1 to {MOST_STREAMS}")
        check_streams(workload(workload_of_input(self.workload)).program, options.streams)
        if options.max_bad < 0:
            raise DatasetError(f"--max-bad is {options.max_bad}; give 0 or more")
        defaults = {setting.name: setting.default for setting in self.settings}
        for noun, names, takes, allowed in (
            ("column", set(options.columns), "takes", self.roles),
            ("option", set(options.settings), "has", tuple(defaults)),
        ):
            if unknown := ", ".join(sorted(names - set(allowed))):
                raise DatasetError(
                    f"import {self.name} has no {noun} {unknown}; it {takes} "
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
        self.form.columns(complete)
        if self.check is not None:
            self.check(complete)
        for path in (*files, *tables.values()):
            check_readable(path)
        form = settings.get(TIME_SETTING.name, self.time)
        form = None if form == TIME_SETTING.default else str(form)
        check_form(form, f"--{TIME_SETTING.name}")
        times = TimeReader(form, unit=self.unit or "ms")
        sort = options.sort or self.sorts
        return replace(complete, files=tuple(files), sort=sort, times=times)


def lookup_cells(form: Form, path: Path, options: ImportOptions) -> Iterator[Cells]:
    """Yield the cells of a look-up table; call `Cells.check` on each.

    Raises:
        DatasetError: a column is missing, or the file is damaged.
    """
    columns, times = form.columns(options), ColumnTimes(options.times)
    for part in form.parts(Split(path=path), options, FIRST, ignore):
        for chunk in part.chunks(chosen_columns(part, columns)):
            yield Cells(part, chunk, tuple(columns), times)


def chosen_columns(part: Part, columns: Mapping[str, str]) -> list[int]:
    """Return the index of the column of each role; raises `DatasetError` if one is missing."""
    for role, column in columns.items():
        if part.names.count(column) != 1:
            wrong = "several columns" if column in part.names else "no column"
            raise DatasetError(
                f"{part.place}: {wrong} {column} for {role}; there are {', '.join(part.names)}; "
                "--columns names columns by the first line, or by number from 1 if it is not a "
                "header"
            )
    return [part.names.index(column) for column in columns.values()]
