"""Implements `lab export` and `lab import-run`."""

import re
from pathlib import Path

import click

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo, stdout
from streamlab.lab.cli.write_errors import check_file, writing
from streamlab.lab.runner.run_directory import RunDirectory, now
from streamlab.reports.numbers import number_of
from streamlab.results.exchange.external_run import read_external_run
from streamlab.results.exchange.writers import write_form
from streamlab.results.query import by_cell
from streamlab.results.schema import IMPORTED
from streamlab.results.seal import compact
from streamlab.results.store import read_run, write_table

_NAME = re.compile(r"[\w-][\w.-]*")


def exchange_export(run: str, form: str, out: Path | None, root: Path) -> int:
    """Write a run in the format of another tool, to a file or standard output."""
    check_file(out, "the export")
    content, left_out = write_form(read_run(find_run(run, root)), form)
    for text in left_out:
        echo(f"lab: left out: {text}", err=True)
    if out is None:
        stdout().write(content.decode())
        return EXIT_OK
    with writing("the export", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    echo(out)
    return EXIT_OK


def exchange_import(files: tuple[Path, ...], name: str | None, root: Path) -> int:
    """Store files of another tool as a run, and print its directory."""
    if name is not None and not _NAME.fullmatch(name):
        raise click.BadParameter(
            f"{name!r} cannot be part of a folder's name; use letters, digits, '-', '_' and '.'",
            param_hint="--name",
        )
    run = read_external_run(files, now=now(), name=name)
    directory = RunDirectory.create(root, run.meta)
    for row in run.rows:
        directory.record(f"{row.order_index:05}", row)
    write_table(directory.path)
    compact(directory.path)
    cells = by_cell(run.rows)
    echo(
        f"{number_of(len(cells), 'benchmark')} of {run.rows[0].engine}, "
        f"{number_of(len(run.rows), 'process', 'processes')}; not verified: status {IMPORTED}"
    )
    echo(directory.path)
    return EXIT_OK
