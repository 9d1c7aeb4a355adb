"""Constructs tables, with a function per kind of source. `Table` documents their common arguments."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from inspect import Parameter
from pathlib import Path
from typing import Any, TypedDict, Unpack, get_type_hints

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.files import (
    ACCESS_LOG,
    CSV,
    JSONL,
    ColumnFiles,
    TextFiles,
    detect_path_format,
    paths_of,
)
from streamlab.workloads.datasets.tables.memory import (
    Item,
    arrays_source,
    frame_source,
    rows_source,
)
from streamlab.workloads.datasets.tables.required_columns import KEY, KIND, TS, required_columns
from streamlab.workloads.datasets.tables.source import Source
from streamlab.workloads.datasets.tables.table import BUILT_IN_COLUMNS, NO_COLUMN, Table
from streamlab.workloads.datasets.text.csv_text import parse_delimiter
from streamlab.workloads.datasets.text.line_formats import LOG_TIME
from streamlab.workloads.model import Program

Path_ = str | Path | Sequence[str | Path]
Times = str | Sequence[str]


class Meaning(TypedDict, total=False):
    """The keyword arguments of all tables, which `Table` documents."""

    key: str | None
    kind: str | None
    columns: Mapping[str, str] | None
    ids: Sequence[str]
    derive: Mapping[str, tuple[str, Callable[[str], Any]]]
    scale: Mapping[str, int]
    decimal: str
    fill: Mapping[str, object]
    skip_missing: Sequence[str]
    time_format: str | None
    zone: str
    unit: str
    streams: int
    max_bad: int
    out_of_order: str | None
    late: str


def _meanings() -> list[Parameter]:
    """Return the keyword arguments of all tables, with the defaults of `Table`."""
    defaults = {
        entry.name: entry.default if entry.default_factory is MISSING else entry.default_factory()
        for entry in fields(Table)
    }
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
        for name, hint in get_type_hints(Meaning).items()
    ]


def _about() -> str:
    """Return the part of the docstring of `Table` that describes the common arguments."""
    _, _, attributes = inspect.cleandoc(Table.__doc__ or "").partition("Attributes:\n")
    common, _, _ = attributes[attributes.find("    ts:") :].partition("\n\n")
    return f"\nArguments of all tables; values out of range raise a `DatasetError`:\n{common}\n"


_table_of = check_arguments(DatasetError, _meanings(), _about())


@_table_of
def csv(
    path: Path_,
    *,
    ts: Times,
    delimiter: str = ",",
    quoted: bool = True,
    **meaning: Unpack[Meaning],
) -> Table:
    """Return a table of CSV files, plain, compressed or in archives; globs are allowed.

    The first row names the columns. If the arguments name all columns by numbers (from 1), the first row is a row of
    data. A blank as delimiter stands for any run of blanks and tabs. With `quoted=False` a quote is a plain
    character.
    """
    delimiter = parse_delimiter(delimiter, "csv: delimiter")
    named = [*_times(ts), meaning.get("key"), *dict(meaning.get("columns") or {}).values()]
    columns = [str(name) for name in named if name not in (None, NO_COLUMN, *BUILT_IN_COLUMNS)]
    are_numbers = bool(columns) and all(name.isdecimal() for name in columns)
    source = TextFiles(
        paths=paths_of(path), delimiter=delimiter, quoted=quoted, header=not are_numbers
    )
    return _table(source, ts, **meaning)


@_table_of
def jsonl(path: Path_, *, ts: Times, **meaning: Unpack[Meaning]) -> Table:
    """Return a table of files of JSON lines, plain, compressed or in archives; globs are allowed.

    Each line is an object. Keys of nested objects become columns such as `user.name`.
    """
    return _table(TextFiles(paths=paths_of(path), file_format=JSONL), ts, **meaning)


@_table_of
def access_log(path: Path_, *, ts: Times = "time", **meaning: Unpack[Meaning]) -> Table:
    """Return a table of access logs of web servers, in the common or the combined format.

    The columns are host, logname, user, time, request, method, url, protocol, status, bytes, referer and agent;
    `-` is an empty cell. Files may be compressed or in archives; globs are allowed.
    """
    if meaning.get("time_format") is None:
        meaning["time_format"] = LOG_TIME
    return _table(TextFiles(paths=paths_of(path), file_format=ACCESS_LOG), ts, **meaning)


@_table_of
def parquet(path: Path_, *, ts: Times, **meaning: Unpack[Meaning]) -> Table:
    """Return a table of Parquet files. Globs and folders are allowed; a folder stands for all files below it."""
    return _table(ColumnFiles(paths=paths_of(path)), ts, **meaning)


@_table_of
def arrow(path: Any, *, ts: Times, **meaning: Unpack[Meaning]) -> Table:
    """Return a table of Arrow IPC files or streams (including Feather), or of an Arrow table."""
    if hasattr(path, "__arrow_c_stream__"):
        return frame(path, ts=ts, **meaning)
    return _table(ColumnFiles(paths=paths_of(path), ipc=True), ts, **meaning)


@_table_of
def frame(data: Any, *, ts: Times, **meaning: Unpack[Meaning]) -> Table:
    """Return a table of a pandas or Polars frame, or of any object with `__arrow_c_stream__`."""
    return _table(frame_source(data), ts, **meaning)


@_table_of
def arrays(data: Any, *, ts: Times, **meaning: Unpack[Meaning]) -> Table:
    """Return a table of arrays by name, or of a structured array."""
    return _table(arrays_source(data), ts, **meaning)


@_table_of
def rows(
    function: Callable[[], Iterable[Item]],
    *,
    ts: Times = "ts",
    **meaning: Unpack[Meaning],
) -> Table:
    """Return a table of the rows that a function without arguments yields.

    The function yields rows (mappings from names to values) or blocks (mappings from names to arrays). Each look-up
    of the dataset calls the function, because the rows identify the dataset. It must yield the same rows each time.
    """
    return _table(rows_source(function, _times(ts)[0]), ts, **meaning)


def _times(ts: Times) -> tuple[str, ...]:
    return (ts,) if isinstance(ts, str) else tuple(ts)


def _table(source: Source, ts: Times, **meaning: Unpack[Meaning]) -> Table:
    """Return the table of a source, after checking that mappings are mappings."""
    settings: dict[str, Any] = {name: value for name, value in meaning.items() if value is not None}
    for name, values in (
        ("columns", "columns"),
        ("fill", "values"),
        ("scale", "factors"),
        ("derive", "pairs of a column and a function"),
    ):
        if not isinstance(settings.get(name, {}), Mapping):
            raise DatasetError(
                f"table {source.label}: {name} is {settings[name]!r:.60}; give a mapping from "
                f"fields to {values}"
            )
    for name in {"ids", "skip_missing"} & settings.keys():
        value = settings[name]
        settings[name] = (value,) if isinstance(value, str) else tuple(value)
    return Table(source=source, ts=ts if isinstance(ts, str) else tuple(ts), **settings)


def table_of_files(
    paths: Sequence[str],
    file_format: str,
    program: Program,
    roles: Mapping[str, str],
    *,
    delimiter: str = ",",
    quoted: bool = True,
    **meaning: Unpack[Meaning],
) -> Table:
    """Return a table of files, as the command line declares it.

    Args:
        paths: files, globs or folders of one format.
        file_format: the format; `auto` recognizes it by the first bytes of the first file.
        program: the program that reads the table.
        roles: the column of each role (`ts`, `key` or `kind`) or field. `DATE+TIME` names two columns of times. A name
            that is a role and a field means the field.
        delimiter: the separator of CSV cells.
        quoted: whether cells of CSV may be quoted.
        meaning: further arguments of `Table`.

    Raises:
        DatasetError: a file or the column of times is missing, or a value is out of range.
    """
    required = required_columns(program)
    columns = dict(roles)
    if TS not in columns:
        raise DatasetError("--columns does not name the column of times; add ts=COLUMN")
    ts: Times = columns.pop(TS)
    if "+" in ts:
        ts = tuple(str(ts).split("+"))
    fields = {*required.fields, *required.lists}
    if KEY not in fields:
        meaning["key"] = columns.pop(KEY, None)
    if KIND not in fields:
        meaning["kind"] = columns.pop(KIND, None)
    meaning["columns"] = columns
    if file_format == "auto":
        file_format = detect_path_format(paths[0])
    if file_format == JSONL:
        return jsonl(paths, ts=ts, **meaning)
    if file_format == ACCESS_LOG:
        return access_log(paths, ts=ts, **meaning)
    if file_format == CSV:
        return csv(paths, ts=ts, delimiter=delimiter, quoted=quoted, **meaning)
    return (parquet if file_format == "parquet" else arrow)(paths, ts=ts, **meaning)
