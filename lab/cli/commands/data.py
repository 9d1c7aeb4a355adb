"""Implements `lab data`, except `lab data import`."""

import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR
from streamlab.lab.cli.commands.arguments import split_pairs
from streamlab.lab.cli.output import echo, stdout
from streamlab.lab.cli.progress import announce
from streamlab.lab.cli.table import print_fitting
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog, damages
from streamlab.workloads.datasets.dataset import Dataset, invented_words, late_words, left_out_words
from streamlab.workloads.datasets.manifest import ID_SHOWN
from streamlab.workloads.datasets.stream_split import check_generated
from streamlab.workloads.datasets.times import span_of
from streamlab.workloads.registry import workload

_COLUMNS = ("id", "workload", "events", "streams", "keys", "origin")
_DROPPED = ("keys", "streams")
"""Columns to leave out on a narrow terminal, in this order."""
_MAX_FILES = 5
"""An import's origin names at most this many files; `lab data show --json` lists all."""


def data_build(
    workload_name: str,
    params: tuple[str, ...],
    seed: int,
    events: int,
    way: str,
    master: str,
    root: Path | None,
) -> None:
    """Generate the input of WORKLOAD, unless the catalogue has it, and print the dataset's id."""
    values: dict[str, object] = dict(split_pairs("--param", params))
    target = workload(workload_name)
    if target.source is None and events >= 0:
        check_generated(target.program, target.streams(target.params(values), events))
    with announce(f"dataset of {target.name}", leave_line=False) as progress:
        dataset = ensure(
            target,
            values,
            events,
            seed,
            catalog=catalog_at(root),
            executor_name=way,
            master=master,
            progress=progress,
        )
    for words in table_words(dataset):
        echo(words, err=True)
    print_id(dataset)


def data_list(as_json: bool, root: Path | None) -> None:
    """List the datasets of the catalogue."""
    catalog = catalog_at(root)
    listing = catalog.list()
    for reason in listing.damaged:
        echo(f"damaged: {reason}", err=True)
    if as_json:
        records = [as_record(dataset) for dataset in listing.datasets]
        echo(json.dumps(records, indent=2))
        return
    if not listing.datasets:
        echo(f"no datasets in {catalog.root}; make one with `lab data build WORKLOAD`")
        return
    print_fitting(
        Console(file=stdout(), highlight=False),
        lambda columns: _listing(listing.datasets, columns),
        _COLUMNS,
        _DROPPED,
    )


def _listing(datasets: Iterable[Dataset], columns: tuple[str, ...]) -> Table:
    table = Table(*columns, box=None)
    for dataset in datasets:
        cells = {
            "id": dataset.id[:ID_SHOWN],
            "workload": dataset.workload,
            "events": f"{dataset.events:,}",
            "streams": str(len(dataset.streams)),
            "keys": f"{dataset.alphabet.keys:,}",
            "origin": origin_words(dataset),
        }
        table.add_row(*(cells[name] for name in columns))
    return table


def data_show(dataset_id: str, as_json: bool, root: Path | None) -> None:
    """Show the streams, files and origin of the dataset whose id starts with ID."""
    catalog = catalog_at(root)
    dataset = catalog.get(dataset_id)
    if as_json:
        echo(json.dumps(as_record(dataset), indent=2))
        return
    print_dataset(dataset, catalog)


def data_verify(dataset_ids: tuple[str, ...], root: Path | None) -> int:
    """Check the files of datasets against their checksums."""
    catalog = catalog_at(root)
    folders = [catalog.entry(prefix) for prefix in dict.fromkeys(dataset_ids)] or catalog.entries()
    damage_count = 0
    for folder in folders:
        reasons = tuple(damages(folder))
        damage_count += bool(reasons)
        echo(f"{folder.name}  {'DAMAGED' if reasons else 'whole'}")
        for reason in reasons:
            echo(f"    {reason}")
    echo(f"{len(folders)} datasets in {catalog.root}, {damage_count} damaged", err=True)
    return EXIT_USER_ERROR if damage_count else EXIT_OK


def catalog_at(root: Path | None) -> Catalog:
    """Return the catalogue in a folder; None for the default folder."""
    return Catalog.default() if root is None else Catalog(root=root.absolute())


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
        "late": late_words(dataset.origin, with_kept=True),
        "left out": left_out_words(dataset.origin),
        "times": str(dataset.origin.get("times", "")),
        "span": str(span_of(dataset) or ""),
        "source": dataset.source,
        "licence": dataset.licence,
        "folder": str(catalog.folder(dataset.id)),
    }
    for name, fact in facts.items():
        if fact:
            console.print(f"{name:<9} {fact}", markup=False)
    for words in table_words(dataset):
        console.print(f"table     {words}", markup=False)
    table = Table("stream", "kinds", "rows", "first", "last", "columns", "file", box=None)
    for stream in dataset.streams:
        table.add_row(
            stream.name,
            ", ".join(dataset.alphabet.kinds[kind] for kind in stream.kinds),
            f"{stream.rows:,}",
            str(stream.ts_min),
            str(stream.ts_max),
            ", ".join(f"{name} {dtype}" for name, dtype in stream.columns),
            stream.path.name + (f" and {len(stream.further)} more" if stream.further else ""),
        )
    console.print(table)


def as_record(dataset: Dataset) -> dict[str, object]:
    """Return a dataset as a JSON record, with everything that another tool needs to read the dataset."""
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
                "paths": [str(path) for path in stream.paths],
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
    """Return the origin of a dataset, in one line."""
    origin = dataset.origin
    files, params = origin.get("files"), origin.get("params", {})
    if isinstance(files, list):
        names = ", ".join(str(file["name"]) for file in files[:_MAX_FILES]) or origin.get("table")
        if unnamed_count := len(files[_MAX_FILES:]):
            names = f"{names}, and {unnamed_count} more"
        return f"import {origin.get('import')}: {names}"
    assert isinstance(params, dict), "manifest.read checks it"
    words = " ".join(f"{name}={value}" for name, value in params.items())
    return f"generated: {words} seed={origin.get('seed')}"


def table_words(dataset: Dataset) -> list[str]:
    """Return one line per table, with its rows and times, if a dataset comes from several tables."""
    tables = dataset.origin.get("tables")
    if not isinstance(tables, dict):
        return []
    return [
        f"{kind}: {facts['table']}, {facts['rows']:,} rows, {facts['bad_rows']:,} bad, "
        f"{facts['skipped_rows']:,} left out without a value, "
        f"{facts['rows_out_of_order']:,} out of order; times: {facts.get('times')}"
        for kind, facts in tables.items()
    ]


def print_id(dataset: Dataset) -> None:
    """Print a summary to stderr and only the id to stdout, for scripts."""
    streams = ", ".join(f"{stream.name} {stream.rows:,}" for stream in dataset.streams)
    echo(f"{dataset.workload}, {dataset.events:,} events: {streams}", err=True)
    echo(dataset.id[:ID_SHOWN])
