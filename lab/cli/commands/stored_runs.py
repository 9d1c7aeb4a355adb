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
    run_dirs = [path for root in roots for path in list_runs(root)]
    if name == LATEST and run_dirs:
        return max(run_dirs, key=lambda path: ((path / "run.json").stat().st_mtime, path))
    matches = [path for path in run_dirs if path.name == name] or [
        path for path in run_dirs if name in path.name and name.strip(".")
    ]
    if len(matches) > 1:
        examples = ", ".join(path.name for path in matches[-5:])
        raise click.UsageError(f"{name!r} matches several runs: {examples}; give more of the name")
    if not matches:
        places = ", ".join(map(str, roots))
        names = [*(path.name for path in run_dirs), *([LATEST] if run_dirs else [])]
        raise click.UsageError(
            f"{name!r} is neither a run's directory (with a run.json) nor a run in "
            f"{places}; {suggest_names(name, names, 'lab list runs')}, or set "
            f"{RUNS_VARIABLE} to another folder"
        )
    return matches[0]
