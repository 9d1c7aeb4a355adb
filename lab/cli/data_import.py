"""`lab data import KIND`: provides one command for tables, and one for each kind of raw file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from streamlab.lab.cli.data_options import (
    catalog_at,
    columns_of,
    master_option,
    root_option,
    step_bar,
    way_option,
)
from streamlab.lab.cli.data_table import table
from streamlab.lab.cli.data_view import print_id, print_rows, print_times
from streamlab.lab.cli.output import SingleOptionCommand
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, Setting

_OPTIONS = (
    click.option(
        "--file",
        "files",
        multiple=True,
        required=True,
        type=AbsolutePath(),
        help="A raw file: plain, gzip or xz, also in a tar or zip archive; repeatable, read in "
        "order.",
    ),
    click.option("--streams", default=1, show_default=True, help="Number of physical streams."),
    click.option("--max-bad", default=0, show_default=True, help="Most bad rows to skip."),
    click.option(
        "--sort", is_flag=True, help="Sort by time; otherwise unsorted files are refused."
    ),
    click.option("--source", help="Origin of the data, to record."),
    click.option("--licence", help="Licence of the data, to record."),
    way_option,
    master_option,
    root_option,
)


class ImportGroup(click.Group):
    """Looks up the commands of `lab data import` in the registry of kinds."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all kinds."""
        from streamlab.workloads.datasets.imports.registry import KINDS

        return [str(table.name), *(kind.name for kind in KINDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a kind.

        Raises:
            DatasetError: the kind is unknown.
        """
        from streamlab.workloads.datasets.imports.registry import import_kind

        if cmd_name == table.name:
            return table
        return _command(import_kind(cmd_name))


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
        from streamlab.workloads.datasets.imports.importer import import_files

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
        with step_bar() as progress:
            dataset = import_files(
                kind,
                options,
                catalog=catalog_at(root),
                way=way,
                master=master,
                progress=progress,
            )
        _print(dataset)

    extra = [_option_of(setting) for setting in kind.settings]
    if kind.roles:
        extra.append(_columns_option(kind))
    function: Callable[..., Any] = run
    for option in reversed((*_OPTIONS, *extra)):
        function = option(function)
    about = f"Import {kind.help}."
    return click.command(kind.name, SingleOptionCommand, help=about, short_help=kind.help)(function)


def _option_of(setting: Setting) -> Callable[..., Any]:
    shown = setting.default != ""
    return click.option(
        f"--{setting.name}",
        _variable(setting),
        default=setting.default,
        show_default=shown,
        is_flag=isinstance(setting.default, bool),
        help=setting.help,
    )


def _columns_option(kind: ImportKind) -> Callable[..., Any]:
    roles = ",".join(f"{role}=..." for role in kind.roles)
    return click.option(
        "--columns",
        multiple=True,
        metavar=roles,
        help="Read CSV, with these columns: names of the first line, or numbers from 1 if it is no "
        "header; repeatable.",
    )


def _variable(setting: Setting) -> str:
    return "own_" + setting.name.replace("-", "_")


def _print(dataset: Dataset) -> None:
    origin = dataset.origin
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(
        f"{origin['lines']:,} lines, {origin['rows']:,} rows, {origin['bad_rows']:,} bad, "
        f"{origin['rows_out_of_order']:,} out of order; {origin['empty_lines']:,} empty lines, "
        f"{origin['lines_passed_over']:,} skipped"
    )
    print_rows(console, origin)
    print_times(dataset, console)
    print_id(dataset)
