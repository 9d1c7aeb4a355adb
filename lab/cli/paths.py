"""Makes a command's paths absolute at its start, because a workload may change the current folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from streamlab.workloads.default_folders import ROOT_VARIABLE, RUNS_VARIABLE, resolve_from
from streamlab.workloads.environments import ROOT_VARIABLE as ENGINES_VARIABLE

VARIABLES = (ROOT_VARIABLE, RUNS_VARIABLE, ENGINES_VARIABLE, "LAB_CACHE", "TMPDIR")
"""Environment variables that hold one path, for the lab and the programs that it starts."""

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
    except OSError:  # it was removed
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
