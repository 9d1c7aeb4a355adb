"""Implements `lab answer`."""

from pathlib import Path

from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.table import print_columns
from streamlab.lab.runner.stored_answer import read_answer
from streamlab.reports.numbers import number_of


def answer(run: str, pattern: str | None, output: str | None, head: int | None, root: Path) -> None:
    """Show the answer that the verified cells of RUN gave, with texts and times decoded."""
    stored_answer = read_answer(find_run(run, root), pattern, head, output)
    print_columns(stored_answer.columns)
    is_cut = head is not None and head < stored_answer.count
    note = f", the first {head} of them shown" if is_cut else ""
    rows = number_of(stored_answer.count, "row")
    echo(f"{rows}{note}; the answer of {', '.join(stored_answer.cells)}", err=True)
