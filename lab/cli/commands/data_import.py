"""Implements `lab data import`: one command for tables, and one for each kind of raw file."""

import csv
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from streamlab.json_value import json_list, json_object
from streamlab.lab.cli.commands.data import catalog_at, print_id
from streamlab.lab.cli.completion import WORKLOADS
from streamlab.lab.cli.data import master_option, root_option, way_option
from streamlab.lab.cli.output import SingleOptionCommand
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.progress import announce
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, Setting
from streamlab.workloads.datasets.imports.registry import KINDS, import_kind
from streamlab.workloads.datasets.tables import dataset_of
from streamlab.workloads.datasets.tables.constructors import table_of_files
from streamlab.workloads.datasets.tables.lateness import DROP, ERROR, KEEP
from streamlab.workloads.datasets.tables.required_columns import required_columns
from streamlab.workloads.datasets.text.records import NO_QUOTES
from streamlab.workloads.datasets.times import span_of
from streamlab.workloads.model import Program
from streamlab.workloads.registry import workload

_OPTIONS = (
    click.option(
        "--file",
        "files",
        multiple=True,
        required=True,
        type=AbsolutePath(),
        help="A raw file: plain, gzip or xz, also in a tar or zip archive. Repeatable; files are read in "
        "this order.",
    ),
    click.option("--streams", default=1, show_default=True, help="Number of physical streams."),
    click.option(
        "--max-bad", default=0, show_default=True, help="Maximum number of bad rows to skip."
    ),
    click.option(
        "--sort", is_flag=True, help="Sort by time; otherwise unsorted files are refused."
    ),
    click.option("--source", help="Origin of the data, to record."),
    click.option("--licence", help="Licence of the data, to record."),
    way_option,
    master_option,
    root_option,
)
FORMATS = ("auto", "csv", "jsonl", "access-log", "parquet", "arrow")
HELP = "any table (CSV, JSON lines, access logs, Parquet, Arrow) for any workload"


@click.command("table", cls=SingleOptionCommand, short_help=HELP)
@click.option(
    "--workload",
    "reference",
    **WORKLOADS,
    required=True,
    metavar="WORKLOAD",
    help="Workload that will read the dataset; its program determines the roles of columns.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    required=True,
    help="A file or a glob, for Parquet and Arrow also a folder. Repeatable; files are read in this "
    "order. CSV may be compressed or in an archive (ARCHIVE!PATTERN selects members).",
)
@click.option(
    "--columns",
    multiple=True,
    required=True,
    metavar="ts=...,key=...,kind=...,FIELD=...",
    help="Column of each role; repeatable. ts: event time; DATE+TIME for two columns. key: if the program "
    "has keys. kind: a column, or the kind of all rows. FIELD: if the field's column has another name; "
    "FIELD=- sets it to 0. A column is a name of the header, or without a header a number from 1. "
    "@file: the row's file or archive member. @row: the row's number, from 1 across all files. @late: the "
    "row's lateness.",
)
@click.option(
    "--ids",
    multiple=True,
    metavar="FIELD,...",
    help="Text fields to replace by numbers; the dictionary is stored with the dataset. Repeatable.",
)
@click.option(
    "--scale",
    multiple=True,
    metavar="FIELD=POWER,...",
    help="Multiply decimals by a power of ten and store exact whole numbers: price=100. Repeatable.",
)
@click.option(
    "--decimal",
    type=click.Choice((".", ",")),
    default=".",
    show_default=True,
    help="Decimal separator of numbers in texts.",
)
@click.option(
    "--fill",
    multiple=True,
    metavar="FIELD=VALUE,...",
    help="Value of a field, or of key, in rows without one. Repeatable.",
)
@click.option(
    "--skip-missing",
    "skip_missing",
    multiple=True,
    metavar="FIELD,...",
    help="Leave out and count the rows without a value of these fields, or of key. Repeatable.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="Format of the files; auto recognizes it by the first bytes, except access-log.",
)
@click.option(
    "--delimiter",
    default=",",
    show_default=True,
    help=r"Character between CSV columns, or \t. A blank stands for any run of blanks and tabs.",
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
    "'%m/%d/%y %H:%M'. Default: recognized from the data.",
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
@click.option("--max-bad", default=0, show_default=True, help="Maximum number of bad rows to skip.")
@click.option(
    "--out-of-order",
    metavar="DURATION",
    help="How late a row may be compared with the latest row before it, such as '5 s'; default: any. "
    "Rows at most this late are sorted into place.",
)
@click.option(
    "--late",
    type=click.Choice((DROP, KEEP, ERROR)),
    default=DROP,
    show_default=True,
    help="Treatment of rows later than --out-of-order: leave out and count, keep, or stop with an error.",
)
@click.option("--source", help="Origin of the data, to record.")
@click.option("--licence", help="Licence of the data, to record.")
@way_option
@master_option
@root_option
def table(
    reference: str,
    files: tuple[str, ...],
    columns: tuple[str, ...],
    ids: tuple[str, ...],
    fill: tuple[str, ...],
    scale: tuple[str, ...],
    skip_missing: tuple[str, ...],
    file_format: str,
    source: str | None,
    licence: str | None,
    way: str,
    master: str,
    root: Path | None,
    **settings: Any,
) -> None:
    """Import any table as the input of WORKLOAD, and print the dataset's id.

    Rows are sorted by time. Each kind of the program gets its own streams.
    """
    target = workload(reference)
    id_fields = tuple(name for text in ids for name in text.split(","))
    table_input = table_of_files(
        files,
        file_format,
        target.program,
        columns_of(columns),
        ids=id_fields,
        fill=_fills(columns_of(fill, "--fill"), target.program, id_fields),
        scale={name: _number(text) for name, text in columns_of(scale, "--scale").items()},
        skip_missing=tuple(name for text in skip_missing for name in text.split(",")),
        **settings,
    )
    with announce(f"input of {target.name}", leave_line=False) as progress:
        dataset = dataset_of(
            table_input,
            target.input_name,
            target.program,
            catalog_at(root),
            progress,
            source=source,
            licence=licence,
            executor_name=way,
            master=master,
        )
    _print_dataset(dataset, _table_counts(dataset.origin), of_table=True)


def import_names() -> list[str]:
    """Return the names of the commands of `lab data import`."""
    return [str(table.name), *(kind.name for kind in KINDS)]


def import_command(name: str) -> click.Command:
    """Return a command of `lab data import`."""
    return table if name == table.name else _command(import_kind(name))


def _command(kind: ImportKind) -> click.Command:
    def run(
        files: tuple[Path, ...],
        streams: int,
        max_bad: int,
        sort: bool,
        source: str | None,
        licence: str | None,
        way: str,
        master: str,
        root: Path | None,
        columns: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        options = ImportOptions(
            files=files,
            streams=streams,
            max_bad=max_bad,
            sort=sort,
            source=source,
            licence=licence,
            columns=columns_of(columns),
            settings={setting.name: settings[_variable(setting)] for setting in kind.settings},
        )
        with announce(f"import of {kind.name}", leave_line=False) as progress:
            dataset = import_files(
                kind,
                options,
                catalog=catalog_at(root),
                executor_name=way,
                master=master,
                progress=progress,
            )
        _print_dataset(dataset, _import_counts(dataset.origin), of_table=False)

    extra = [_option_of(setting) for setting in kind.settings]
    if kind.roles:
        extra.append(_columns_option(kind))
    function: Callable[..., Any] = run
    for option in reversed((*_OPTIONS, *extra)):
        function = option(function)
    about = f"Import {kind.help}."
    return click.command(kind.name, SingleOptionCommand, help=about, short_help=kind.help)(function)


def _option_of(setting: Setting) -> Callable[..., Any]:
    return click.option(
        f"--{setting.name}",
        _variable(setting),
        default=setting.default,
        show_default=setting.default != "",
        is_flag=isinstance(setting.default, bool),
        help=setting.help,
    )


def _columns_option(kind: ImportKind) -> Callable[..., Any]:
    roles = ",".join(f"{role}=..." for role in kind.roles)
    return click.option(
        "--columns",
        multiple=True,
        metavar=roles,
        help="Read CSV with these columns; repeatable. A column is a name of the header, or without a "
        "header a number from 1.",
    )


def _variable(setting: Setting) -> str:
    return "setting_" + setting.name.replace("-", "_")


def _fills(
    texts: Mapping[str, str], program: Program, id_fields: tuple[str, ...]
) -> dict[str, object]:
    """Return the values of `--fill`; values of numeric fields become numbers."""
    fields = required_columns(program).fields.keys() - set(id_fields)
    return {name: _number(text) if name in fields else text for name, text in texts.items()}


def _number(text: str) -> Any:
    for parse in (int, float):
        with suppress(ValueError):
            return parse(text)
    return {"true": True, "false": False}.get(text.lower(), text)


def columns_of(texts: tuple[str, ...], option: str = "--columns") -> dict[str, str]:
    """Return the column for each role, from texts such as `ts=time,key=user`.

    Each text is a row of CSV, so that a quoted name may contain commas: `"temp=Temp, C"`.
    """
    pairs: dict[str, str] = {}
    for part in (part for text in texts for part in next(csv.reader([text])) or [""]):
        role, equals, column = part.partition("=")
        if not (role and equals and column):
            expected = "ROLE=COLUMN" if option == "--columns" else "FIELD=VALUE"
            raise click.BadParameter(f"{part!r} is not {expected}", param_hint=option)
        if role in pairs:
            raise click.BadParameter(f"{part!r}: {role} occurs twice", param_hint=option)
        pairs[role] = column
    return pairs


def _import_counts(origin: Mapping[str, object]) -> str:
    return (
        f"{origin['lines']:,} lines, {origin['rows']:,} rows, {origin['bad_rows']:,} bad, "
        f"{origin['rows_out_of_order']:,} out of order; {origin['empty_lines']:,} empty lines, "
        f"{origin['lines_passed_over']:,} skipped"
    )


def _table_counts(origin: Mapping[str, object]) -> str:
    moved_rows = origin["rows_out_of_order"]
    parts = [
        f"{origin['rows']:,} rows",
        f"{origin['bad_rows']:,} bad",
        f"{moved_rows:,} out of order{', so all rows were sorted' if moved_rows else ''}",
    ]
    parts += [
        f"{n:,} left out without {name}"
        for name, n in json_object(origin["skipped_by_field"]).items()
    ]
    parts += [
        f"{n:,} filled with a value of {name}"
        for name, n in json_object(origin["filled_by_field"]).items()
    ]
    return ", ".join(parts) + _lateness(origin)


def _lateness(origin: Mapping[str, object]) -> str:
    """Return a text about the largest lateness and the late rows; empty if no row was late."""
    largest, bound = origin.get("largest_lateness"), origin.get("out_of_order")
    if not largest:
        return ""
    lateness = f"; largest lateness {largest:,} {origin.get('unit', '')}".rstrip()
    result = "kept" if "late" in origin else "left out"
    late_rows = f"; later than {bound} and {result}: {origin['late_rows']:,}" if bound else ""
    return lateness + late_rows


def _print_dataset(dataset: Dataset, counts: str, *, of_table: bool) -> None:
    """Print the counts and warnings of an import to stderr, and the dataset's id to stdout."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(counts)
    _print_rows(console, dataset.origin)
    kinds = enumerate(dataset.alphabet.kinds) if of_table else ()
    for kind, name in kinds:
        if not any(stream.rows for stream in dataset.streams if kind in stream.kinds):
            console.print(f"warning: no row has kind {name}", markup=False)
    _print_times(console, dataset)
    if of_table:
        dictionaries = ", ".join(file.name for file in dataset.dictionaries)
        console.print(f"keys: {dataset.alphabet.keys:,}; dictionaries: {dictionaries or 'none'}")
    print_id(dataset)


def _print_times(console: Console, dataset: Dataset) -> None:
    """Print how an import read its times, their span, and warnings about them."""
    origin, span = dataset.origin, span_of(dataset)
    words = [str(part) for part in (origin.get("times"), span) if part]
    if words:
        console.print(f"times: {'; '.join(words)}", markup=False)
    if repeated_count := origin.get("repeated_times"):
        console.print(
            f"warning: {repeated_count:,} times are ambiguous, as the clock of {origin['zone']} was set "
            f"back, and are read as the earlier one, e.g. {origin['first_repeated_time']}",
            markup=False,
        )
    if span is not None and (warning := span.warning()):
        console.print(f"warning: {warning}", markup=False)


def _print_rows(console: Console, origin: Mapping[str, object]) -> None:
    """Print the bad rows of an import, and the rows that span several lines."""
    for line in json_list(origin["bad_lines"]):
        console.print(f"  bad row: {line}", markup=False)
    for line in json_list(origin.get("late_lines")):
        console.print(f"  late: {line}", markup=False)
    if lines := origin["lines_in_bad_rows"]:
        console.print(f"lines inside bad rows, not read as rows: {lines:,}; {NO_QUOTES}")
    if rows := origin["rows_of_several_lines"]:
        console.print(
            f"quoted rows over several lines: {rows:,}, with {origin['lines_in_rows']:,} further "
            f"lines, not read as rows; {NO_QUOTES}"
        )
        for place in json_list(origin["several_lines"]):
            console.print(f"  several lines: {place}", markup=False)
