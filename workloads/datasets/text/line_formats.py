"""Reads texts whose lines are records of named columns: JSON lines and access logs of web servers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from streamlab.workloads.datasets import pa, pa_json, pc
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.raw_files import RawText, convert_read_errors
from streamlab.workloads.datasets.text.csv_text import chunk_of, record_lines
from streamlab.workloads.datasets.text.decoding import text_blocks
from streamlab.workloads.datasets.text.records import Chunk, Records, RecordScanner

Bad = dict[int, tuple[str, bytes]]
"""By index of a record: why it is bad, and its first bytes."""

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_LOG_LINE = (
    r"^(?P<host>\S+) (?P<logname>\S+) (?P<user>.+?) \[(?P<time>[^\]]+)\] "
    + _QUOTED.replace("(", "(?P<request>", 1)
    + r" (?P<status>\d{3}) (?P<bytes>\d+|-)(?: "
    + _QUOTED.replace("(", "(?P<referer>", 1)
    + " "
    + _QUOTED.replace("(", "(?P<agent>", 1)
    + r")?(?: .*)?$"
)
"""The common and the combined format of Apache and nginx. Further fields are ignored."""
_REQUEST = r"^(?P<method>[A-Z]+) (?P<url>\S+)(?: (?P<protocol>\S+))?$"
LOG_COLUMNS = (
    *("host", "logname", "user", "time", "request", "method", "url", "protocol"),
    *("status", "bytes", "referer", "agent"),
)
LOG_TIME = "%d/%b/%Y:%H:%M:%S %z"
"""The format of times in access logs."""


class JsonText:
    """JSON lines, read once. Each line is an object. Keys of nested objects become columns such as `user.name`.

    The first block determines names and types. A block with other types is read line by line.

    Args:
        part: the text.
        types: the type of each key, if the text is a later split of a file.

    Attributes:
        types: the type of each key; empty if not known.
    """

    def __init__(self, part: RawText, types: "Mapping[str, pa.DataType] | None" = None) -> None:
        self._part, self._line = part, part.line - 1
        self._records = _records(part)
        self._first: list[Records] = []
        self.types = types or {}

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns; call it once, before `rows`.

        Raises:
            DatasetError: the text has no object.
        """
        place = self._part.place
        with convert_read_errors(place, lambda: "line 1"):
            for records in self._records:
                self._first.append(records)
                table = _parse_quickly(records, None)
                if table is not None and table.num_columns:
                    self.types = {field.name: _without_stamps(field.type) for field in table.schema}
                    return tuple(_flat(table).column_names)
                columns, bad = _parse_lines(records)
                if columns:
                    return tuple(columns)
                for why, _ in bad.values():
                    raise DatasetError(f"{place}: line {int(records.line[0])}: {why}")
        raise DatasetError(f"{place} is empty; there is nothing to import")

    def rows(self, columns: Sequence[str], chosen: Sequence[int]) -> Iterator[Chunk]:
        """Yield the chosen columns of all lines; a line that is not an object is bad."""
        names = [columns[index] for index in chosen]
        keys = {name if name in self.types else name.partition(".")[0] for name in names}
        schema = {name: kind for name, kind in self.types.items() if name in keys}
        with convert_read_errors(self._part.place, lambda: f"line {self._line}"):
            for records in chain(self._first, self._records):
                self._line += records.lines
                table = _parse_quickly(records, schema) if schema else None
                bad: Bad = {}
                if table is not None:
                    flat = _flat(table)
                    cells = {name: flat[name].combine_chunks() for name in flat.column_names}
                else:
                    cells, bad = _parse_lines(records)
                good = records.without(bad)
                empty = pa.nulls(len(good.row))
                yield chunk_of([_combine_chunks(cells.get(name, empty)) for name in names], good)


class LogText:
    """An access log in the common or combined format, read once; `-` is an empty cell."""

    def __init__(self, part: RawText) -> None:
        self._part, self._line = part, part.line - 1

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return LOG_COLUMNS

    def rows(self, columns: Sequence[str], chosen: Sequence[int]) -> Iterator[Chunk]:
        """Yield the chosen columns of all lines; a line of another format is bad."""
        with convert_read_errors(self._part.place, lambda: f"line {self._line}"):
            for records in _records(self._part):
                self._line += records.lines
                cells, bad = _parse_log(records)
                good = records.without(bad)
                yield chunk_of([cells[columns[index]] for index in chosen], good)


def _records(part: RawText) -> Iterator[Records]:
    """Yield the lines of a text as records."""
    blocks = text_blocks(part.file, part.place, continues=part.line > 1)
    return RecordScanner(part.place, ",", quoted=False).records(blocks, part.row, part.line)


def _parse_log(records: Records) -> tuple[dict[str, "pa.Array"], Bad]:
    """Parse lines of an access log; return the columns of `LOG_COLUMNS`, and the lines in another format."""
    lines = list(record_lines(records))
    texts = pa.array([line.decode("utf-8", errors="replace") for line in lines], pa.string())
    parts = pc.extract_regex(texts, _LOG_LINE)
    is_log_line = np.asarray(parts.is_valid().to_numpy(zero_copy_only=False))
    bad = {
        index: ("it is not in the common or combined log format", line)
        for index, line in enumerate(lines)
        if not is_log_line[index]
    }
    parts = parts.filter(pa.array(is_log_line))
    cells = {
        name: parts.field(name) for name in LOG_COLUMNS if parts.type.get_field_index(name) >= 0
    }
    request = pc.extract_regex(cells["request"], _REQUEST)
    for name in ("method", "url", "protocol"):
        cells[name] = pc.struct_field(request, name)
    nothing = pa.array(["-", ""])
    return {
        name: pc.if_else(pc.is_in(column, nothing), None, column) for name, column in cells.items()
    }, bad


def _parse_quickly(
    records: Records, schema: "Mapping[str, pa.DataType] | None"
) -> "pa.Table | None":
    """Return all lines as a table; None if Arrow cannot read each line as an object of the schema."""
    if not len(records.row):
        return None
    options = pa_json.ParseOptions(
        explicit_schema=None if schema is None else pa.schema(list(schema.items())),
        unexpected_field_behavior="infer" if schema is None else "ignore",
    )
    try:
        table = pa_json.read_json(
            pa.BufferReader(records.data),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(records.data) + 2),
            parse_options=options,
        )
    except pa.ArrowException:
        return None
    return table if table.num_rows == len(records.row) else None


def _flat(table: "pa.Table") -> "pa.Table":
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def _without_stamps(kind: "pa.DataType") -> "pa.DataType":
    """Return a type with texts instead of times, because Arrow recognizes times in some blocks only."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_stamps(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_without_stamps(kind.value_type))
    return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_null(kind) else kind


def _parse_lines(records: Records) -> tuple[dict[str, "pa.Array"], Bad]:
    """Parse line by line; return the columns of all objects, and the lines that are not objects."""
    objects: list[dict[str, object]] = []
    bad: Bad = {}
    for index, line in enumerate(record_lines(records)):
        try:
            value = json.loads(line, parse_float=str, parse_constant=_refuse)
            if not isinstance(value, dict):
                raise ValueError(f"it is a {type(value).__name__}")
            objects.append(dict(_leaves("", value)))
        except (ValueError, RecursionError) as error:
            bad[index] = (f"it is not a JSON object ({error})", line)
    names = dict.fromkeys(name for row in objects for name in row)
    return {name: _column([row.get(name) for row in objects]) for name in names}, bad


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _leaves(prefix: str, value: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    """Yield the values in nested objects, each with its keys joined by points after `prefix`."""
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _leaves(f"{prefix}{key}.", item)
        else:
            yield f"{prefix}{key}", item


def _column(values: Sequence[Any]) -> "pa.Array":
    """Return values as a column of their common type; texts if they have none."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array(
            [v if v is None or isinstance(v, str) else json.dumps(v) for v in values], pa.string()
        )


def _combine_chunks(column: Any) -> "pa.Array":
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0)
    return column
