"""Implements `lab quickstart`."""

import shlex
from pathlib import Path

import streamlab.lab
from streamlab.lab.cli import EXIT_INTERRUPTED
from streamlab.lab.cli.commands.run import measure
from streamlab.lab.cli.output import echo
from streamlab.lab.runner.run_plan import plan_run

NEXT = (
    ("the answer that was verified", "lab answer {run} --cell 'event_window/*' --head 5"),
    ("five fresh processes a cell, for ranges", "lab run event_window -w 1,2 -n 5 --report"),
    ("Spark as well, which needs Java", "lab run --demo --report"),
    ("all workloads", "lab list workloads"),
    ("a package of your own", "lab new workload my-workload"),
)
"""The next commands to try, each below a description of its output."""


def quickstart(out: Path) -> int:
    """Run a few workloads on engines that need no Java; print a table and write a page."""
    path = Path(streamlab.lab.__file__).with_name("quickstart.toml")
    plan = plan_run(path.read_text(encoding="utf-8"), path.name)
    outcome = measure(plan, resume=None, out=out, report=True)
    if outcome.exit_code != EXIT_INTERRUPTED:
        run = shlex.quote(str(outcome.run_dir))
        echo("\nnext:")
        for about, command in NEXT:
            echo(f"  {about}:\n    {command.format(run=run)}")
    return outcome.exit_code
