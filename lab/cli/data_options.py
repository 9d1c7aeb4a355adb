"""Provides what the commands that make datasets share: options, parsing of columns, a progress bar."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from streamlab.lab.cli.paths import AbsolutePath
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.executor import AUTO, WAYS
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.datasets.session import DEFAULT_MASTER
from streamlab.workloads.default_folders import ROOT_VARIABLE

root_option = click.option(
    "--root",
    type=AbsolutePath(file_okay=False),
    help=f"Folder of the catalogue.  [default: ${ROOT_VARIABLE}, else see docs/data.md]",
)
master_option = click.option(
    "--master", default=DEFAULT_MASTER, show_default=True, help="Spark master to run on."
)

way_option = click.option(
    "--with",
    "way",
    type=click.Choice(WAYS),
    default=AUTO,
    show_default=True,
    help="Make the dataset in this process or on Spark, with the same result; auto: on Spark if "
    "it is large or --master is given.",
)


def catalog_at(root: Path | None) -> Catalog:
    """Return the catalogue in a folder; None: the default one."""
    return Catalog.default() if root is None else Catalog(root=root.absolute())


@contextmanager
def step_bar() -> Iterator[Progress]:
    """Show a progress bar on standard error, from the first step on."""
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


def columns_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the column of each role, from texts such as `ts=time,key=user`.

    Each text is a row of CSV, so quotes allow commas in a name: `"temp=Temp, C"`.

    Raises:
        click.BadParameter: a part is not ROLE=COLUMN, or a role occurs twice.
    """
    pairs: dict[str, str] = {}
    for part in (part for text in texts for part in next(csv.reader([text])) or [""]):
        role, equals, column = part.partition("=")
        if not (role and equals and column) or role in pairs:
            raise click.BadParameter(
                f"{part!r} is not ROLE=COLUMN, or its role occurs twice", param_hint="--columns"
            )
        pairs[role] = column
    return pairs
