"""Implements `lab answer`."""

from pathlib import Path

from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.table import print_columns
from streamlab.lab.runner.stored_answer import read_answer
from streamlab.reports.numbers import number_of


def answer(run: str, pattern: str | None, output: str | None, head: int | None, root: Path) -> None:
    """Show the answer that the verified cells of RUN gave, with texts and times decoded."""
    stored = read_answer(find_run(run, root), pattern, head, output)
    print_columns(stored.columns)
    is_cut = head is not None and head < stored.count
    shown = f", the first {head} of them shown" if is_cut else ""
    rows = number_of(stored.count, "row")
    echo(f"{rows}{shown}; the answer of {', '.join(stored.cells)}", err=True)
