"""Makes a table from the command line's options: files by format, and columns by role."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.constructors import Meaning, arrow, csv, parquet
from streamlab.workloads.datasets.tables.file_search import first_file
from streamlab.workloads.datasets.tables.required_columns import KEY, KIND, TS, required_columns
from streamlab.workloads.datasets.tables.table import Table
from streamlab.workloads.model import Program

_FORMS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
"""The format by a file's first bytes; others are CSV, possibly compressed."""


def table_of_files(
    paths: Sequence[str],
    form: str,
    program: Program,
    roles: Mapping[str, str],
    *,
    delimiter: str = ",",
    quoted: bool = True,
    **meaning: Unpack[Meaning],
) -> Table:
    """Return a table of files.

    Args:
        paths: files, folders and globs.
        form: `csv`, `parquet`, `arrow`, or `auto` to recognize the first file by its first bytes.
        program: reads the table.
        roles: the columns by role: `ts`, `key`, `kind`, or a field of the program. If a field has the
            name of a role, the field has precedence.
        delimiter: between the cells of CSV.
        quoted: whether CSV has cells in quotes, as for `csv`.
        **meaning: further attributes of the table.

    Raises:
        DatasetError: a file or the column of times is missing, or a value is out of range.
    """
    required = required_columns(program)
    rest = dict(roles)
    if TS not in rest:
        raise DatasetError("--columns does not say which column holds the times (ts=...)")
    ts = rest.pop(TS)
    fields = {*required.fields, *required.lists}
    if KEY not in fields:
        meaning["key"] = rest.pop(KEY, None)
    if KIND not in fields:
        meaning["kind"] = rest.pop(KIND, None)
    meaning["columns"] = rest
    if form == "auto":
        form = form_of(first_file(tuple(paths)))
    if form == "csv":
        return csv(paths, ts=ts, delimiter=delimiter, quoted=quoted, **meaning)
    return (parquet if form == "parquet" else arrow)(paths, ts=ts, **meaning)


def form_of(path: Path) -> str:
    """Return the format of a file by its first bytes: `parquet`, `arrow` or else `csv`."""
    with path.open("rb") as file:
        start = file.read(max(map(len, _FORMS)))
    return next((form for mark, form in _FORMS.items() if start.startswith(mark)), "csv")
