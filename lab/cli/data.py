"""`lab data`: generate, import, list and show datasets."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from lab.cli.data_view import as_record, origin_words, print_dataset, print_id
from workloads.datasets.catalog import ROOT_VARIABLE, Catalog
from workloads.datasets.manifest import ID_SHOWN
from workloads.datasets.progress import Progress

_MASTER = "local[*]"

root_option = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"Folder of the catalogue.  [default: ${ROOT_VARIABLE}, else ./data]",
)
master_option = click.option(
    "--master", default=_MASTER, show_default=True, help="Spark master to run on."
)


@click.group()
def data() -> None:
    """Generate, import and show datasets."""


@data.command()
@click.argument("workload_name", metavar="WORKLOAD")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A generator parameter.")
@click.option("--seed", default=1, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--events",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(min=0),
    help="Events in all streams; slightly more may be made.",
)
@master_option
@root_option
def build(
    workload_name: str,
    params: tuple[str, ...],
    seed: int,
    events: int,
    master: str,
    root: Path | None,
) -> None:
    """Generate the input of WORKLOAD, unless the catalogue has it, and print its id."""
    from workloads.datasets.build import ensure
    from workloads.registry import workload

    given: dict[str, object] = {}
    for text in params:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not of the form K=V", param_hint="--param")
        given[name] = value
    with _bar() as progress:
        dataset = ensure(
            workload(workload_name),
            given,
            events,
            seed,
            catalog=_catalog(root),
            master=master,
            progress=progress,
        )
    print_id(dataset)


@data.command("import")
@click.argument("kind_name", metavar="KIND")
@click.option(
    "--file",
    "files",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="A raw file, plain, gzip or xz; several are read one after the other.",
)
@click.option("--streams", default=1, show_default=True, help="Physical streams to split into.")
@click.option("--max-bad", default=0, show_default=True, help="Bad lines that may be left out.")
@click.option("--sort", is_flag=True, help="Sort by time instead of refusing unsorted files.")
@click.option("--source", help="Where the data comes from, instead of the kind's own text.")
@click.option("--licence", help="Licence of the data, instead of the kind's own text.")
@master_option
@root_option
def import_(
    kind_name: str,
    files: tuple[Path, ...],
    streams: int,
    max_bad: int,
    sort: bool,
    source: str | None,
    licence: str | None,
    master: str,
    root: Path | None,
) -> None:
    """Import real input of a KIND (access-log, wikipedia-edits) and print the dataset's id."""
    from workloads.datasets.imports.kind import ImportOptions
    from workloads.datasets.imports.registry import import_kind
    from workloads.datasets.imports.run import import_files

    options = ImportOptions(
        files=files,
        streams=streams,
        max_bad=max_bad,
        sort=sort,
        source=source,
        licence=licence,
    )
    with _bar() as progress:
        dataset = import_files(
            import_kind(kind_name),
            options,
            catalog=_catalog(root),
            master=master,
            progress=progress,
        )
    origin = dataset.origin
    console = Console(stderr=True, highlight=False)
    console.print(
        f"{origin['lines']:,} lines, {origin['rows']:,} rows, {origin['bad_rows']:,} bad, "
        f"{origin['rows_out_of_order']:,} out of order"
    )
    bad_lines = origin["bad_lines"]
    assert isinstance(bad_lines, list)
    for line in bad_lines:
        console.print(f"  left out: {line}", markup=False)
    print_id(dataset)


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@root_option
def list_(as_json: bool, root: Path | None) -> None:
    """List the datasets of the catalogue."""
    catalog = _catalog(root)
    listing = catalog.list()
    for reason in listing.damaged:
        click.echo(f"damaged: {reason}", err=True)
    if as_json:
        shown = [as_record(dataset, catalog) for dataset in listing.datasets]
        click.echo(json.dumps(shown, indent=2))
        return
    if not listing.datasets:
        click.echo(f"no datasets in {catalog.root}; make one with `lab data build WORKLOAD`")
        return
    table = Table("id", "workload", "events", "streams", "keys", "origin", box=None)
    for dataset in listing.datasets:
        table.add_row(
            dataset.id[:ID_SHOWN],
            dataset.workload,
            f"{dataset.events:,}",
            str(len(dataset.streams)),
            f"{dataset.alphabet.keys:,}",
            origin_words(dataset),
        )
    Console(highlight=False).print(table)


@data.command()
@click.argument("dataset_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@root_option
def show(dataset_id: str, as_json: bool, root: Path | None) -> None:
    """Show the dataset whose id starts with ID: its streams, files and origin."""
    catalog = _catalog(root)
    dataset = catalog.get(dataset_id)
    if as_json:
        click.echo(json.dumps(as_record(dataset, catalog), indent=2))
        return
    print_dataset(dataset, catalog)


def _catalog(root: Path | None) -> Catalog:
    return Catalog.default() if root is None else Catalog(root=root.absolute())


@contextmanager
def _bar() -> Iterator[Progress]:
    """Give a progress bar on standard error; it shows nothing before the first step."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _steps(bar)


def _steps(bar: Bar) -> Progress:
    tasks = {"": bar.add_task("starting", total=None)}

    def progress(step: str, done: int, total: int) -> None:
        if step not in tasks:
            bar.remove_task(tasks.popitem()[1])
            tasks[step] = bar.add_task(step, total=total or None)
        bar.update(tasks[step], completed=done)

    return progress
