"""Declares path arguments, and makes paths absolute, because a workload may change the current folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from streamlab.workloads.default_folders import (
    CLUSTERS_VARIABLE,
    ENGINES_VARIABLE,
    ROOT_VARIABLE,
    RUNS_VARIABLE,
    SHARED_VARIABLE,
    resolve_from,
    runs,
)

VARIABLES = (
    *(ROOT_VARIABLE, RUNS_VARIABLE, ENGINES_VARIABLE, CLUSTERS_VARIABLE, SHARED_VARIABLE),
    *("LAB_CACHE", "TMPDIR"),
)
"""Environment variables that hold one path, for the lab and the programs that it starts."""

LATEST = "latest"
"""Name of the newest run."""

LISTS = ("PYTHONPATH",)
"""Environment variables that hold several paths."""


class AbsolutePath(click.Path):
    """An option or argument type that gives an absolute `pathlib.Path`, without following links."""

    def __init__(
        self, *, exists: bool = False, file_okay: bool = True, dir_okay: bool = True
    ) -> None:
        """Take the conditions of `click.Path`."""
        super().__init__(exists=exists, file_okay=file_okay, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, made absolute from the current folder."""
        return Path(os.fsdecode(super().convert(value, param, ctx))).absolute()


@contextmanager
def absolute_places() -> Iterator[None]:
    """Make the paths in environment variables absolute; default places start at this folder."""
    try:
        folder = Path.cwd()
    except OSError:  # the current folder was removed
        yield
        return
    for name in (*VARIABLES, *LISTS):
        if value := os.environ.get(name):
            parts = value.split(os.pathsep) if name in LISTS else [value]
            absolute = os.pathsep.join(str(Path(part).absolute()) for part in parts)
            if absolute != value:
                os.environ[name] = absolute
    with resolve_from(folder):
        yield


def runs_root() -> Path:
    """Return the folder of runs: LAB_RUNS, else the folder of the current checkout, else the user's."""
    return runs().path.absolute()


def runs_option(*names: str, about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a command's option for the folder of runs."""
    return click.option(
        *names,
        type=AbsolutePath(file_okay=False),
        envvar=RUNS_VARIABLE,
        default=runs_root,
        show_default="$LAB_RUNS, else see docs/running.md",
        help=f"{about} (environment: {RUNS_VARIABLE}).",
    )
