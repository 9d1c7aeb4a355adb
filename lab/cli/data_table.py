"""`lab data import table`: any table as the input of any workload."""

from pathlib import Path

import click
from rich.console import Console

from streamlab.lab.cli.catalogue import catalog_at, root_option, step_bar
from streamlab.lab.cli.columns import columns_of
from streamlab.lab.cli.completion import WORKLOADS
from streamlab.lab.cli.data_view import print_id, print_rows, print_times
from streamlab.lab.cli.single_option import Once
from streamlab.workloads.datasets.dataset import Dataset

FORMATS = ("auto", "csv", "parquet", "arrow")
HELP = "any table (CSV, Parquet, Arrow) for any workload"


@click.command("table", cls=Once, short_help=HELP)
@click.option(
    "--workload",
    "reference",
    **WORKLOADS,
    required=True,
    metavar="WORKLOAD",
    help="Whose input it becomes: its program says what is wanted of the table.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    required=True,
    help="A file or a glob; for Parquet and Arrow also a folder. Several are read one after the "
    "other. CSV may be compressed, and lie in archives (ARCHIVE!PATTERN: the members that match).",
)
@click.option(
    "--columns",
    multiple=True,
    required=True,
    metavar="ts=...,key=...,kind=...,FIELD=...",
    help="Which column holds what: event times, keys and kinds where the program has them, and "
    "each field that is not called as its column (FIELD=-: there is none, and it is 0). "
    "kind=NAME may also be the kind of all rows. Names are those of the first line, or numbers "
    "from 1 where it is no header; @file is the name of a row's file, @row its number. May be "
    "given several times.",
)
@click.option(
    "--ids",
    multiple=True,
    metavar="FIELD,...",
    help="Fields whose texts get numbers, by a dictionary that is kept. May be given several "
    "times.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="Form of the files; auto: their beginning tells.",
)
@click.option(
    "--delimiter",
    default=",",
    show_default=True,
    help=r"Character between CSV columns (or \t); "
    "a blank: any run of blanks and tabs.",
)
@click.option(
    "--no-quotes",
    "quoted",
    is_flag=True,
    default=True,
    flag_value=False,
    help="In CSV, read a quote as a plain character, and every line as a row.",
)
@click.option(
    "--time-format",
    help="How times are written: iso; s, ms, us or ns since 1970; or a pattern such as "
    "'%m/%d/%y %H:%M'. Else it is recognized.",
)
@click.option(
    "--zone", default="UTC", show_default=True, help="Zone of times that name none, by IANA name."
)
@click.option(
    "--unit",
    type=click.Choice(("s", "ms", "us", "ns")),
    default="ms",
    show_default=True,
    help="Unit of event time in the dataset: that of the program's windows.",
)
@click.option(
    "--streams",
    default=1,
    show_default=True,
    help="Physical streams that the rows of a kind are dealt to, where they can be.",
)
@click.option("--max-bad", default=0, show_default=True, help="Bad rows that may be left out.")
@click.option("--source", help="Where the data comes from; else it is not stated.")
@click.option("--licence", help="Licence of the data; else it is not stated.")
@root_option
def table(
    reference: str,
    files: tuple[str, ...],
    columns: tuple[str, ...],
    ids: tuple[str, ...],
    form: str,
    delimiter: str,
    quoted: bool,
    time_format: str | None,
    zone: str,
    unit: str,
    streams: int,
    max_bad: int,
    source: str | None,
    licence: str | None,
    root: Path | None,
) -> None:
    """Import any table as the input of WORKLOAD, and print the dataset's id.

    Rows are sorted by time. Each kind of the program has streams of its own.
    """
    from streamlab.workloads.datasets.tables import dataset_of
    from streamlab.workloads.datasets.tables.file_forms import table_of_files
    from streamlab.workloads.registry import workload

    wanted = workload(reference)
    declared = table_of_files(
        files,
        form,
        wanted.program,
        columns_of(columns),
        delimiter=delimiter,
        quoted=quoted,
        ids=tuple(name for text in ids for name in text.split(",")),
        time_format=time_format,
        zone=zone,
        unit=unit,
        streams=streams,
        max_bad=max_bad,
    )
    with step_bar() as progress:
        dataset = dataset_of(
            declared,
            wanted.input_name,
            wanted.program,
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
        f"{origin['rows']:,} rows, {origin['bad_rows']:,} bad, {moved:,} earlier than the row "
        f"before them{', so all were sorted' if moved else ''}"
    )
    print_rows(console, origin)
    for kind, name in enumerate(dataset.alphabet.kinds):
        if not any(stream.rows for stream in dataset.streams if kind in stream.kinds):
            console.print(f"warning: no row is of kind {name}", markup=False)
    print_times(dataset, console)
    keys = f"keys: {dataset.alphabet.keys:,}"
    numbered = ", ".join(file.name for file in dataset.dictionaries)
    console.print(f"{keys}; dictionaries: {numbered or 'none'}")
    print_id(dataset)
