"""Rows and run.json for tests: only the columns and keys that a test is about."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlab.reports.summary import summarise
from streamlab.reports.table import classes_of, in_groups
from streamlab.results.meta import RunMeta, parse_meta
from streamlab.results.schema import SCHEMA_VERSION, TrialRow
from streamlab.results.seal import write_sealed
from streamlab.results.store import make_row, write_trial


def trial_row(columns: Mapping[str, Any]) -> TrialRow:
    """A row of these columns; all others are None."""
    return make_row("test", columns)


def store_trial(run_dir: Path, name: str, columns: Mapping[str, Any]) -> None:
    """Record a trial of these columns as the lab does."""
    write_trial(run_dir, name, make_row(name, columns))


def run_meta(content: Mapping[str, Any]) -> RunMeta:
    """The content of run.json as it is read, from these keys."""
    return parse_meta(Path("run"), content)


def store_meta(run_dir: Path, content: Mapping[str, Any]) -> None:
    """Write a run.json of these keys only."""
    text = json.dumps({"schema_version": SCHEMA_VERSION, **content})
    write_sealed(run_dir, run_dir / "run.json", text.encode())


def change_meta(run_dir: Path, **parts: Any) -> None:
    """Write run.json again with other parts."""
    store_meta(run_dir, json.loads((run_dir / "run.json").read_text()) | parts)


def headline_rows(rows):
    """The table of rows, group after group."""
    groups = in_groups(summarise(rows))
    return [row for _, members in groups for _, part in classes_of(members) for row in part]
