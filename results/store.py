"""Writes and reads runs: directories that stay readable after a kill at any moment.

run.json          the request, the machine and the software; written at the start and at the end
trials/*.json     one file per finished trial, written atomically: the durable record
trials.parquet    the same rows as one table, derived when the run ends or is interrupted
SHA256SUMS        checksums of all these files, checked at each read (results/seal.py)
series/*.parquet  one series per trial on a 100 ms grid (lab/measure/series.py)
series/*.hlog     latency histograms of a trial, in the log format of HdrHistogram (lab/measure/hdr.py)
logs/ outputs/
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlab.json_value import JsonValue
from streamlab.results.errors import ResultsError
from streamlab.results.meta import RunMeta, parse_meta
from streamlab.results.row_conversion import convert_row, escape_text
from streamlab.results.schema import NAMES, SCHEMA_VERSION, STATUSES, TrialRow, columns_of
from streamlab.results.seal import Seals, load_seals, read_sealed, remedy, write_sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A stored run: `meta` is the content of run.json, `rows` are the trials in the order of execution."""

    path: Path
    meta: RunMeta
    rows: tuple[TrialRow, ...]


def write_meta(run_dir: Path, meta: RunMeta) -> None:
    """Write run.json atomically; adds the schema version."""
    _write_json(run_dir, run_dir / "run.json", {"schema_version": SCHEMA_VERSION, **meta.json()})


def make_row(name: str, columns: Mapping[str, object]) -> TrialRow:
    """Return a trial's row from the columns that its process reported; other columns are None.

    Raises:
        ResultsError: a column is not in the schema.
    """
    unknown = sorted(set(columns) - NAMES)
    if unknown:
        raise ResultsError(f"trial {name}: columns not in the schema: {', '.join(unknown)}")
    return _row(columns)


def write_trial(run_dir: Path, name: str, row: TrialRow) -> None:
    """Record one finished trial durably as `trials/<name>.json`.

    Raises:
        ResultsError: the row has an unknown status, or a value of the wrong type.
    """
    if row.status not in STATUSES:
        raise ResultsError(f"trial {name}: unknown status {row.status!r}")
    values, misfits = convert_row(columns_of(row))
    if misfits:
        raise ResultsError(f"trial {name}: {'; '.join(misfits)}")
    _write_json(run_dir, run_dir / "trials" / f"{name}.json", values)


def write_table(run_dir: Path) -> Path:
    """Write trials.parquet from the recorded trials and return its path."""
    from streamlab.results.table import (
        parquet_of,  # loads Arrow, which a list of runs does not need
    )

    rows = sorted(read_trials(run_dir).values(), key=lambda row: row.order_index)
    target = run_dir / "trials.parquet"
    write_sealed(run_dir, target, parquet_of(rows))
    return target


def read_trials(run_dir: Path) -> dict[str, TrialRow]:
    """Return the recorded trials by name, also of an interrupted run.

    Raises:
        ResultsError: a record cannot be read.
    """
    paths = sorted((run_dir / "trials").glob("*.json"))
    seals = load_seals(run_dir)
    return {path.stem: _read_trial(path, _read_json(run_dir, path, seals)) for path in paths}


def read_meta(run_dir: Path) -> RunMeta:
    """Return run.json.

    Raises:
        ResultsError: the file is missing, damaged, or has another schema version.
    """
    path = run_dir / "run.json"
    if not path.is_file():
        raise ResultsError(f"{run_dir} is not a run: it has no run.json (see `lab list runs`)")
    meta = _read_json(run_dir, path)
    version = meta.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ResultsError(
            f"{path}: schema_version is {version!r}, this lab reads {SCHEMA_VERSION}; "
            "read the run with the lab that wrote it, or run it again"
        )
    return parse_meta(run_dir, meta)


def read_run(run_dir: Path) -> Run:
    """Read a run from run.json and trials.parquet.

    A killed lab may leave trials that the table lacks; then the trial records are read instead.

    Raises:
        ResultsError: the directory is not a run, or the run is damaged or of another version.
    """
    meta = read_meta(run_dir)
    path = run_dir / "trials.parquet"
    recorded = len(list((run_dir / "trials").glob("*.json")))
    rows = _read_table(run_dir, path) if path.is_file() else ()
    if len(rows) < recorded or not path.is_file():
        trials = read_trials(run_dir).values()
        rows = tuple(sorted(trials, key=lambda row: row.order_index))
    return Run(path=run_dir, meta=meta, rows=rows)


def _read_table(run_dir: Path, path: Path) -> tuple[TrialRow, ...]:
    import pyarrow as pa

    from streamlab.results.table import table_of

    try:
        table = table_of(read_sealed(run_dir, path))
    except (pa.ArrowException, OSError) as error:
        raise ResultsError(
            f"{path} is damaged ({error}); remove it, and `lab run --resume {run_dir}` "
            "writes it again"
        ) from error
    version = (table.schema.metadata or {}).get(b"lab.schema_version", b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise ResultsError(f"{path}: schema version {version}, this lab reads {SCHEMA_VERSION}")
    return tuple(_convert(row) for row in table.to_pylist())


def list_runs(root: Path) -> list[Path]:
    """Return the run directories directly below `root`, oldest name first."""
    if not root.is_dir():
        return []
    return sorted(path.parent for path in root.glob("*/run.json") if path.parent.is_dir())


_REQUIRED = ("cell", "repetition", "order_index", "status")
"""Columns without which a row does not identify its trial."""


def _read_trial(path: Path, columns: Mapping[str, object]) -> TrialRow:
    """Convert a trial's record; raise ResultsError if it lacks a column of _REQUIRED or a known status."""
    row = _convert(columns)
    missing = [name for name in _REQUIRED if getattr(row, name) is None]
    if missing or row.status not in STATUSES:
        fault = f"no {', '.join(missing)}" if missing else f"status {row.status!r}"
        raise ResultsError(
            f"{path} is damaged: it has {fault}; remove it and use `lab run --resume`"
        )
    return row


def _convert(columns: Mapping[str, object]) -> TrialRow:
    """Return stored columns as a row.

    Values of the wrong type, which older labs recorded, become None.
    Columns that this lab does not know are ignored.
    """
    values, _ = convert_row(columns)
    return _row(values)


def _row(columns: Mapping[str, object]) -> TrialRow:
    values: dict[str, Any] = {name: columns.get(name) for name in TrialRow.__struct_fields__}
    return TrialRow(**values)


def _read_json(run_dir: Path, path: Path, seals: Seals | None = None) -> dict[str, JsonValue]:
    try:
        loaded = json.loads(read_sealed(run_dir, path, seals))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultsError(f"{path} is damaged ({error}); {remedy(run_dir, path)}") from error
    if not isinstance(loaded, dict):
        raise ResultsError(
            f"{path} is damaged: expected a JSON object, got {type(loaded).__name__}"
        )
    return {escape_text(key): escape_text(value) for key, value in loaded.items()}


def _write_json(run_dir: Path, path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file atomically, with its seal (errors: `write_sealed`)."""
    write_sealed(run_dir, path, (json.dumps(content, indent=1) + "\n").encode())
