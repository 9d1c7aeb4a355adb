"""Provides the option for the folder of runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamlab.lab.cli.paths import AbsolutePath
from streamlab.workloads.default_folders import RUNS_VARIABLE, runs

LATEST = "latest"
_SHOWN = "$LAB_RUNS, else see docs/running.md"


def runs_root() -> Path:
    """Return the folder of runs: LAB_RUNS, else that of the current checkout, else the user's."""
    return runs().path.absolute()


def runs_option(*names: str, about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a command's option for the folder of runs."""
    return click.option(
        *names,
        type=AbsolutePath(file_okay=False),
        envvar=RUNS_VARIABLE,
        default=runs_root,
        show_default=_SHOWN,
        help=f"{about} (environment: {RUNS_VARIABLE}).",
    )
