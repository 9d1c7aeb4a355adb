"""Implements `lab list`."""

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import echo


def list_things(what: str, as_json: bool, out: Path) -> int:
    """List workloads with their parameters, engines with their variants, figures, or runs."""
    listing = import_module(f"streamlab.lab.cli.commands.listing.{what}")
    records = listing.records(out)
    if as_json:
        echo(json.dumps([asdict(record) for record in records], indent=2, default=str))
        return EXIT_OK
    if what == "runs" and not records:
        # To stderr, because every line of stdout is a run.
        echo(f"no runs in {out}; `lab run --demo` makes one", err=True)
    for line in listing.lines(records):
        echo(line)
    return EXIT_OK
