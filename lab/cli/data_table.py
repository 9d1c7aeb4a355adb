"""`lab data import table`: imports any table as the input of any workload."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from streamlab.lab.cli.completion import WORKLOADS
from streamlab.lab.cli.data_options import catalog_at, columns_of, root_option, step_bar
from streamlab.lab.cli.data_view import print_id, print_rows, print_times
from streamlab.lab.cli.output import SingleOptionCommand
from streamlab.workloads.datasets.dataset import Dataset

FORMATS = ("auto", "csv", "parquet", "arrow")
HELP = "any table (CSV, Parquet, Arrow) for any workload"


@click.command("table", cls=SingleOptionCommand, short_help=HELP)
@click.option(
    "--workload",
    "reference",
    **WORKLOADS,
    required=True,
    metavar="WORKLOAD",
    help="Workload to import for; its program determines the roles of columns.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    required=True,
    help="A file or a glob, for Parquet and Arrow also a folder; repeatable, read in order. CSV may "
    "be compressed or in an archive (ARCHIVE!PATTERN selects members).",
)
@click.option(
    "--columns",
    multiple=True,
    required=True,
    metavar="ts=...,key=...,kind=...,FIELD=...",
    help="Column of each role: event time (ts), key and kind if the program has them, and fields "
    "whose column has another name (FIELD=-: no column, the value is 0). kind=NAME may also be one "
    "kind for all rows. Columns are names of the first line, or numbers from 1 if it is no header; "
    "@file is the name of a row's file, @row its number. Repeatable.",
)
@click.option(
    "--ids",
    multiple=True,
    metavar="FIELD,...",
    help="Text fields to replace by numbers; the dictionary is stored with the dataset. Repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="Format of the files; auto: recognized by their first bytes.",
)
@click.option(
    "--delimiter",
    default=",",
    show_default=True,
    help=r"Character between CSV columns, or \t; a blank: any run of blanks and tabs.",
)
@click.option(
    "--no-quotes",
    "quoted",
    is_flag=True,
    default=True,
    flag_value=False,
    help="In CSV, treat quotes as plain characters, and each line as a row.",
)
@click.option(
    "--time-format",
    help="Format of times: iso; s, ms, us or ns since 1970; or a pattern such as "
    "'%m/%d/%y %H:%M'. Default: recognized.",
)
@click.option(
    "--zone", default="UTC", show_default=True, help="IANA time zone for times without a zone."
)
@click.option(
    "--unit",
    type=click.Choice(("s", "ms", "us", "ns")),
    default="ms",
    show_default=True,
    help="Unit of event time in the dataset; use the unit of the program's windows.",
)
@click.option(
    "--streams",
    default=1,
    show_default=True,
    help="Number of physical streams per kind, if its rows can be split.",
)
@click.option("--max-bad", default=0, show_default=True, help="Most bad rows to skip.")
@click.option("--source", help="Origin of the data, to record.")
@click.option("--licence", help="Licence of the data, to record.")
@root_option
def table(
    reference: str,
    files: tuple[str, ...],
    columns: tuple[str, ...],
    ids: tuple[str, ...],
    form: str,
    source: str | None,
    licence: str | None,
    root: Path | None,
    **settings: Any,
) -> None:
    """Import any table as the input of WORKLOAD, and print the dataset's id.

    Rows are sorted by time. Each kind of the program gets its own streams.
    """
    from streamlab.workloads.datasets.tables import dataset_of
    from streamlab.workloads.datasets.tables.constructors import table_of_files
    from streamlab.workloads.registry import workload

    target = workload(reference)
    declared = table_of_files(
        files,
        form,
        target.program,
        columns_of(columns),
        ids=tuple(name for text in ids for name in text.split(",")),
        **settings,
    )
    with step_bar() as progress:
        dataset = dataset_of(
            declared,
            target.input_name,
            target.program,
            catalog_at(root),
            progress,
            source=source,
            licence=licence,
        )
    _print(dataset)


def _print(dataset: Dataset) -> None:
    origin = dataset.origin
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    moved = origin["rows_out_of_order"]
    console.print(
        f"{origin['rows']:,} rows, {origin['bad_rows']:,} bad, {moved:,} out of order"
        f"{', so all rows were sorted' if moved else ''}"
    )
    print_rows(console, origin)
    for kind, name in enumerate(dataset.alphabet.kinds):
        if not any(stream.rows for stream in dataset.streams if kind in stream.kinds):
            console.print(f"warning: no row has kind {name}", markup=False)
    print_times(dataset, console)
    keys = f"keys: {dataset.alphabet.keys:,}"
    numbered = ", ".join(file.name for file in dataset.dictionaries)
    console.print(f"{keys}; dictionaries: {numbered or 'none'}")
    print_id(dataset)
