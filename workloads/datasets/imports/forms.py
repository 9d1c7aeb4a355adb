"""Defines the formats of raw files: how an import splits them into parts, and which columns it reads."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.kind import Form, ImportOptions, Setting
from streamlab.workloads.datasets.imports.raw_files import At, parts
from streamlab.workloads.datasets.imports.raw_files import Part as RawPart
from streamlab.workloads.datasets.tables.column_files import arrow_parts, parquet_parts
from streamlab.workloads.datasets.tables.constructors import form_of
from streamlab.workloads.datasets.tables.table import Part
from streamlab.workloads.datasets.tables.text_files import text_part
from streamlab.workloads.datasets.text.csv_text import LINE, CsvText, LineText, parse_delimiter
from streamlab.workloads.datasets.times import ColumnTimes

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
        """As `Form.columns`."""
        return {LINE: LINE}

    def parts(self, path: Path, options: ImportOptions, at: At) -> Iterator[Part]:
        """As `Form.parts`."""
        for raw in parts(path):
            yield text_part(raw, LineText(raw, fallback=self.fallback), _reporter(at, raw))


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
        """As `Form.columns`."""
        return {name: name for name in self.read or self.names}

    def parts(self, path: Path, options: ImportOptions, at: At) -> Iterator[Part]:
        """As `Form.parts`."""
        for raw in parts(path):
            text = CsvText(raw, self.delimiter, quoted=False, layout=self.names)
            yield text_part(raw, text, _reporter(at, raw))


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
    default_form: Form | None = None
    selects: Callable[[str, ImportOptions], bool] | None = None
    refusal: Callable[[Path, ImportOptions, list[str]], DatasetError] | None = None

    def columns(self, options: ImportOptions) -> Mapping[str, str]:
        """As `Form.columns`."""
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

    def parts(self, path: Path, options: ImportOptions, at: At) -> Iterator[Part]:
        """As `Form.parts`."""
        if self.default_form is not None and not options.columns:
            yield from self.default_form.parts(path, options, at)
            return
        form = form_of(path)
        if form != "csv":
            yield from (parquet_parts if form == "parquet" else arrow_parts)(path)
            return
        delimiter = parse_delimiter(options.settings.get("delimiter", ","), "--delimiter")
        quoted = not options.settings.get("no-quotes", False)
        header = not all(name.isdecimal() for name in self.columns(options).values())
        others: list[str] | None = []
        for raw in parts(path):
            if self.selects is None or self.selects(raw.place, options):
                text = CsvText(raw, delimiter, quoted=quoted, header=header)
                yield text_part(raw, text, _reporter(at, raw))
                others = None
            elif others is not None:
                others.append(raw.place)
        if others and self.refusal is not None:
            raise self.refusal(path, options, others)


def cells_of(
    form: Form, path: Path, options: ImportOptions, at: At, times: ColumnTimes
) -> Iterator[Cells]:
    """Yield all cells of a raw file.

    Raises:
        DatasetError: a column is missing, or the file is damaged or cannot be read.
    """
    columns = form.columns(options)
    for part in form.parts(path, options, at):
        index = _chosen(part, columns)
        for chunk in part.chunks(index):
            yield Cells(part, chunk, tuple(columns), times)


def lookup_cells(form: Form, path: Path, options: ImportOptions) -> Iterator[Cells]:
    """Yield the cells of a look-up table; call `Cells.check` on each."""
    yield from cells_of(form, path, options, lambda position: None, ColumnTimes(options.times))


def _chosen(part: Part, columns: Mapping[str, str]) -> list[int]:
    """Return the index of the column of each role."""
    for role, column in columns.items():
        if part.names.count(column) != 1:
            wrong = "several columns" if column in part.names else "no column"
            raise DatasetError(
                f"{part.place}: {wrong} {column} for {role}; there are {', '.join(part.names)}; "
                "--columns names columns by the first line, or by number from 1 if it is not a "
                "header"
            )
    return [part.names.index(column) for column in columns.values()]


def _reporter(at: At, raw: RawPart) -> Callable[[], None]:
    return lambda: at(raw.at())
