"""Loads the streams of an input as DuckDB tables, one for each kind of event.

`<kind>_events` has `src` (the stream's index, which breaks ties in event time), `row` (the row in the stream), `ts`,
`key`, and the fields that the program reads. It is a table in memory, or a view over files.
`<kind>_streams` has the `src` of all streams with the kind.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from streamlab.engines.protocol import Task
from streamlab.engines.tables import no_events
from streamlab.workloads.datasets.dataset import DatasetStream
from streamlab.workloads.inputs.retail.parameters import day_number, parse_ids


def open_database(task: Task, *, in_memory: bool) -> duckdb.DuckDBPyConnection:
    """Return a database with the input, the macros, and the query parameters as variables."""
    connection = duckdb.connect(":memory:", config={"threads": task.workers})
    connection.execute(f"SET temp_directory = {_quote(task.scratch)}")
    connection.execute(Path(__file__).with_name("macros.sql").read_text(encoding="utf-8"))
    for name, value in task.workload.query_params.items():
        connection.execute(f"SET VARIABLE {name} = $1", [_value(name, value)])
    no_rows = no_events(task)
    connection.register("no_events", no_rows)
    alphabet, streams = task.dataset.alphabet, list(enumerate(task.dataset.streams))
    relation = "TABLE" if in_memory else "VIEW"
    for kind, kind_name in enumerate(alphabet.kinds):
        carrying = [(src, stream) for src, stream in streams if kind in stream.kinds]
        parts = ["SELECT 0::INTEGER AS src, 0::BIGINT AS row, 0::INTEGER AS key, * FROM no_events"]
        for src, stream in carrying:
            parts += _rows(src, stream, kind, len(alphabet.kinds), no_rows.column_names)
        connection.execute(
            f"CREATE {relation} {kind_name}_events AS {' UNION ALL BY NAME '.join(parts)}"
        )
        connection.execute(f"CREATE TABLE {kind_name}_streams (src INTEGER)")
        for src, _ in carrying:
            connection.execute(f"INSERT INTO {kind_name}_streams VALUES ({src})")
    return connection


def _rows(
    src: int, stream: DatasetStream, kind: int, kinds: int, columns_read: Sequence[str]
) -> list[str]:
    """Return a query for each file of a stream: its events of one kind, with the columns that the program reads."""
    names = [name for name, _ in stream.columns]
    key = f"tag // {kinds}" if "tag" in names else "0"
    columns = "".join(f', "{name}"' for name in names if name in columns_read)
    where = f" WHERE tag % {kinds} = {kind}" if len(stream.kinds) > 1 else ""
    files = [(stream.path, 0), *((file.path, file.first_row) for file in stream.further)]
    return [
        f"SELECT {src}::INTEGER AS src, file_row_number + {first_row} AS row, ({key})::INTEGER AS key{columns} "
        f"FROM read_parquet({_quote(path)}, file_row_number = true){where}"
        for path, first_row in files
    ]


def _value(name: str, value: object) -> Any:
    """Convert a query parameter for SQL; None (NULL) means all ids."""
    if name in ("stores", "categories"):
        ids = parse_ids(name, str(value))
        return None if ids.every else list(ids.among)
    return day_number(str(value)) if name == "first_day" else value


def _quote(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
