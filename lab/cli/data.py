"""`lab data`: generate, import, list, show and verify datasets."""

import json
from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR
from streamlab.lab.cli.completion import DATASETS, WORKLOADS
from streamlab.lab.cli.data_import import ImportGroup
from streamlab.lab.cli.data_options import (
    catalog_at,
    master_option,
    root_option,
    step_bar,
    way_option,
)
from streamlab.lab.cli.data_view import as_record, origin_words, print_dataset, print_id
from streamlab.lab.cli.output import LabGroup, SingleOptionCommand, echo, stdout
from streamlab.lab.cli.table_width import print_fitting
from streamlab.workloads.datasets.catalog import LARGEST_SEED
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.manifest import ID_SHOWN

_LISTED = ("id", "workload", "events", "streams", "keys", "origin")
_DROPPED = ("keys", "streams")
"""Columns dropped on a narrow terminal, first one first."""


@click.group(cls=LabGroup)
def data() -> None:
    """Generate, import, show and verify datasets."""


@data.command(cls=SingleOptionCommand)
@click.argument("workload_name", metavar="WORKLOAD", **WORKLOADS)
@click.option("--param", "params", multiple=True, metavar="K=V", help="A generator parameter.")
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, LARGEST_SEED),
    help="Seed of the random numbers.",
)
@click.option(
    "--events",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(min=0),
    help="Approximate number of events in all streams.",
)
@way_option
@master_option
@root_option
def build(
    workload_name: str,
    params: tuple[str, ...],
    seed: int,
    events: int,
    way: str,
    master: str,
    root: Path | None,
) -> None:
    """Generate the input of WORKLOAD, unless the catalogue has it, and print the dataset's id."""
    from streamlab.workloads.datasets.builder import ensure
    from streamlab.workloads.datasets.split import check_generated
    from streamlab.workloads.registry import workload

    values: dict[str, object] = {}
    for text in params:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not of the form K=V", param_hint="--param")
        values[name] = value
    target = workload(workload_name)
    if target.source is None and events >= 0:
        check_generated(target.program, target.streams(target.params(values), events))
    with step_bar() as progress:
        dataset = ensure(
            target,
            values,
            events,
            seed,
            catalog=catalog_at(root),
            way=way,
            master=master,
            progress=progress,
        )
    print_id(dataset)


data.add_command(
    ImportGroup(name="import", help="Import real data of a KIND and print the dataset's id.")
)


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@root_option
def list_(as_json: bool, root: Path | None) -> None:
    """List the datasets of the catalogue."""
    catalog = catalog_at(root)
    listing = catalog.list()
    for reason in listing.damaged:
        echo(f"damaged: {reason}", err=True)
    if as_json:
        shown = [as_record(dataset) for dataset in listing.datasets]
        echo(json.dumps(shown, indent=2))
        return
    if not listing.datasets:
        echo(f"no datasets in {catalog.root}; make one with `lab data build WORKLOAD`")
        return
    print_fitting(
        Console(file=stdout(), highlight=False),
        lambda columns: _listing(listing.datasets, columns),
        _LISTED,
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


@data.command()
@click.argument("dataset_id", metavar="ID", **DATASETS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@root_option
def show(dataset_id: str, as_json: bool, root: Path | None) -> None:
    """Show the streams, files and origin of the dataset whose id starts with ID."""
    catalog = catalog_at(root)
    dataset = catalog.get(dataset_id)
    if as_json:
        echo(json.dumps(as_record(dataset), indent=2))
        return
    print_dataset(dataset, catalog)


@data.command()
@click.argument("dataset_ids", metavar="[ID]...", nargs=-1, **DATASETS)
@click.option("--all", "every", is_flag=True, help="Check all datasets, as without an ID.")
@root_option
def verify(dataset_ids: tuple[str, ...], every: bool, root: Path | None) -> int:
    """Check the files of datasets against their checksums.

    Prints one line per dataset, and one per damaged file, with the remedy. Exit codes: 0 no damage,
    2 a dataset is damaged.
    """
    if every and dataset_ids:
        raise click.UsageError("give either IDs or --all")
    from streamlab.workloads.datasets.catalog import damages

    catalog = catalog_at(root)
    folders = [catalog.entry(prefix) for prefix in dict.fromkeys(dataset_ids)] or catalog.entries()
    damaged = 0
    for folder in folders:
        reasons = tuple(damages(folder))
        damaged += bool(reasons)
        echo(f"{folder.name}  {'DAMAGED' if reasons else 'whole'}")
        for reason in reasons:
            echo(f"    {reason}")
    echo(f"{len(folders)} datasets in {catalog.root}, {damaged} damaged", err=True)
    return EXIT_USER_ERROR if damaged else EXIT_OK
