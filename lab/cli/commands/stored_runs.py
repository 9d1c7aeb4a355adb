"""Finds stored runs by name."""

from pathlib import Path

import click

from streamlab.lab.cli.paths import LATEST
from streamlab.results.store import list_runs
from streamlab.workloads.default_folders import RUNS_VARIABLE
from streamlab.workloads.name_suggestions import suggest_names


def find_run(name: str, *roots: Path) -> Path:
    """Return a run's directory.

    `name` is a run's path, the whole or a part of a run's name in a root, or `latest`.

    Raises:
        click.UsageError: no run or several runs match.
    """
    if (Path(name) / "run.json").is_file():
        return Path(name).absolute()
    stored = [path for root in roots for path in list_runs(root)]
    if name == LATEST and stored:
        return max(stored, key=lambda path: ((path / "run.json").stat().st_mtime, path))
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
    return matching[0]
