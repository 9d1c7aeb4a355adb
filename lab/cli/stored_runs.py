"""Finds stored runs by name, and provides the option for the folder of runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamlab.lab.cli.paths import AbsolutePath
from streamlab.results.meta import check_meta
from streamlab.results.store import list_runs, read_meta
from streamlab.workloads.default_folders import RUNS_VARIABLE, runs
from streamlab.workloads.name_suggestions import suggest_names

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


def find_run(name: str, *roots: Path) -> Path:
    """Return a run's directory.

    The name is a run's path, its name in a root or a part of it, or `latest`.

    Raises:
        click.UsageError: no run or several runs match.
        ResultsError: the run's run.json is damaged.
    """
    if (Path(name) / "run.json").is_file():
        return check_run(Path(name).absolute())
    stored = [path for root in roots for path in list_runs(root)]
    if name == LATEST and stored:
        return check_run(max(stored, key=lambda path: ((path / "run.json").stat().st_mtime, path)))
    matching = [path for path in stored if path.name == name] or [
        path for path in stored if name in path.name and name.strip(".")
    ]
    if len(matching) > 1:
        some = ", ".join(path.name for path in matching[-5:])
        raise click.UsageError(f"{name!r} matches several runs: {some}; give more of the name")
    if not matching:
        places = ", ".join(map(str, roots))
        names = [*(path.name for path in stored), *([LATEST] if stored else [])]
        raise click.UsageError(
            f"{name!r} is neither a run's directory (with a run.json) nor a run in "
            f"{places}; {suggest_names(name, names, 'lab list runs')}, or set "
            f"{RUNS_VARIABLE} to another folder"
        )
    return check_run(matching[0])


def check_run(run_dir: Path) -> Path:
    """Return a run's directory after a check of its run.json.

    Raises:
        ResultsError: run.json is damaged.
    """
    check_meta(run_dir, read_meta(run_dir))
    return run_dir
