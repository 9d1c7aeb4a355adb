"""Runs that are stored: the option that says where, and how one is found by its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamlab.lab.cli.paths import AbsolutePath
from streamlab.workloads.default_folders import RUNS_VARIABLE, runs
from streamlab.workloads.name_suggestions import suggest_names

LATEST = "latest"
_SHOWN = "$LAB_RUNS, else as docs/running.md says"


def runs_root() -> Path:
    """Return the folder of runs: LAB_RUNS, the checkout's that one stands in, else the user's."""
    return runs().path.absolute()


def runs_option(*names: str, about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option of a command that names the folder of runs."""
    return click.option(
        *names,
        type=AbsolutePath(file_okay=False),
        envvar=RUNS_VARIABLE,
        default=runs_root,
        show_default=_SHOWN,
        help=f"{about} (environment: {RUNS_VARIABLE}).",
    )


def find_run(name: str, *roots: Path) -> Path:
    """Return a run's directory, given by path, by its name or a part of it in a root, or `latest`.

    Raises:
        click.UsageError: there is none, or several match.
        ResultsError: its run.json is damaged.
    """
    from streamlab.results.store import list_runs

    if (Path(name) / "run.json").is_file():
        return whole(Path(name).absolute())
    known = [path for root in roots for path in list_runs(root)]
    if name == LATEST and known:
        return whole(max(known, key=lambda path: ((path / "run.json").stat().st_mtime, path)))
    matching = [path for path in known if path.name == name] or [
        path for path in known if name in path.name and name.strip(".")
    ]
    if len(matching) > 1:
        some = ", ".join(path.name for path in matching[-5:])
        raise click.UsageError(f"{name!r} is ambiguous: {some}; say more of it")
    if not matching:
        places = ", ".join(map(str, roots))
        names = [*(path.name for path in known), *([LATEST] if known else [])]
        raise click.UsageError(
            f"{name!r} is neither a run's directory (it would hold run.json) nor a run below "
            f"{places}; {suggest_names(name, names, 'lab list runs')}, and "
            f"{RUNS_VARIABLE} names another place"
        )
    return whole(matching[0])


def whole(run_dir: Path) -> Path:
    """Return a run's directory when its run.json says all that commands ask of it.

    Raises:
        ResultsError: it is damaged.
    """
    from streamlab.results.meta import check_meta
    from streamlab.results.store import read_meta

    check_meta(run_dir, read_meta(run_dir))
    return run_dir
