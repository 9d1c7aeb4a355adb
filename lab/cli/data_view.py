"""Prints datasets for `lab data`: as JSON, as a table, as an id."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from streamlab.lab.cli.output import echo, stdout
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset, invented_words
from streamlab.workloads.datasets.manifest import ID_SHOWN
from streamlab.workloads.datasets.text.records import NO_QUOTES
from streamlab.workloads.datasets.times import span_of

_MOST_FILES = 5
"""Most files of an import to name; `show --json` lists all."""


def print_dataset(dataset: Dataset, catalog: Catalog) -> None:
    """Print a dataset for people: facts, then a table of its streams."""
    console = Console(file=stdout(), highlight=False, soft_wrap=True)
    kinds = ", ".join(dataset.alphabet.kinds)
    facts = {
        "id": dataset.id,
        "workload": dataset.workload,
        "events": f"{dataset.events:,}",
        "tags": f"{kinds} x {dataset.alphabet.keys:,} keys; tag = kind + "
        f"{len(dataset.alphabet.kinds)} * key",
        "origin": origin_words(dataset),
        "invented": invented_words(dataset.origin, dataset.events),
        "times": str(dataset.origin.get("times", "")),
        "span": str(span_of(dataset) or ""),
        "source": dataset.source,
        "licence": dataset.licence,
        "folder": str(catalog.folder(dataset.id)),
    }
    for name, fact in facts.items():
        if fact:
            console.print(f"{name:<9} {fact}", markup=False)
    table = Table("stream", "kinds", "rows", "first", "last", "columns", "file", box=None)
    for stream in dataset.streams:
        table.add_row(
            stream.name,
            ", ".join(dataset.alphabet.kinds[kind] for kind in stream.kinds),
            f"{stream.rows:,}",
            str(stream.ts_min),
            str(stream.ts_max),
            ", ".join(f"{name} {dtype}" for name, dtype in stream.columns),
            stream.path.name,
        )
    console.print(table)


def print_times(dataset: Dataset, console: Console) -> None:
    """Print how an import read its times, their span, and warnings about them."""
    origin, span = dataset.origin, span_of(dataset)
    words = [str(part) for part in (origin.get("times"), span) if part]
    if words:
        console.print(f"times: {'; '.join(words)}", markup=False)
    if repeated := origin.get("repeated_times"):
        console.print(
            f"warning: {repeated:,} times are ambiguous, as the clock of {origin['zone']} was set "
            f"back, and are read as the earlier one, e.g. {origin['first_repeated_time']}",
            markup=False,
        )
    if span is not None and (warning := span.warning()):
        console.print(f"warning: {warning}", markup=False)


def as_record(dataset: Dataset) -> dict[str, object]:
    """Return a dataset as a JSON record, with all that another tool needs to read it."""
    kinds = dataset.alphabet.kinds
    return {
        "id": dataset.id,
        "workload": dataset.workload,
        "events": dataset.events,
        "alphabet": {
            "kinds": kinds,
            "keys": dataset.alphabet.keys,
            "tag": f"kind + {len(kinds)} * key",
        },
        "order": "ts, then position in `streams`, then row",
        "streams": [
            {
                "name": stream.name,
                "kinds": [kinds[kind] for kind in stream.kinds],
                "path": str(stream.path),
                "rows": stream.rows,
                "ts_min": stream.ts_min,
                "ts_max": stream.ts_max,
                "columns": dict(stream.columns),
                "heartbeats": stream.heartbeats,
            }
            for stream in dataset.streams
        ],
        "dictionaries": {file.name: str(file.path) for file in dataset.dictionaries},
        "origin": dict(dataset.origin),
        "source": dataset.source,
        "licence": dataset.licence,
    }


def origin_words(dataset: Dataset) -> str:
    """Return how a dataset was made, in one line."""
    origin = dataset.origin
    files, params = origin.get("files"), origin.get("params", {})
    if isinstance(files, list):
        names = ", ".join(str(file["name"]) for file in files[:_MOST_FILES]) or origin.get("table")
        if more := len(files[_MOST_FILES:]):
            names = f"{names}, and {more} more"
        return f"import {origin.get('import')}: {names}"
    assert isinstance(params, dict), "manifest.read checks it"
    words = " ".join(f"{name}={value}" for name, value in params.items())
    return f"generated: {words} seed={origin.get('seed')}"


def print_rows(console: Console, origin: Mapping[str, Any]) -> None:
    """Print the bad rows of an import, and the rows that span several lines."""
    for line in origin["bad_lines"]:
        console.print(f"  skipped: {line}", markup=False)
    if lines := origin["lines_in_bad_rows"]:
        console.print(f"lines inside bad rows, not read as rows: {lines:,}; {NO_QUOTES}")
    if rows := origin["rows_of_several_lines"]:
        console.print(
            f"quoted rows over several lines: {rows:,}, with {origin['lines_in_rows']:,} further "
            f"lines, not read as rows; {NO_QUOTES}"
        )
        for place in origin["several_lines"]:
            console.print(f"  several lines: {place}", markup=False)


def print_id(dataset: Dataset) -> None:
    """Print only the id on standard output, for scripts; a summary goes to standard error."""
    streams = ", ".join(f"{stream.name} {stream.rows:,}" for stream in dataset.streams)
    echo(f"{dataset.workload}, {dataset.events:,} events: {streams}", err=True)
    echo(dataset.id[:ID_SHOWN])
