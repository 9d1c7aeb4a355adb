"""Implements `lab site`."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from streamlab.lab.cli.commands.compare import SEED
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.paths import runs_root
from streamlab.lab.cli.write_errors import check_folder, writing
from streamlab.lab.errors import LabError
from streamlab.reports.numbers import number_of
from streamlab.reports.page.site import write_site
from streamlab.results.store import list_runs


def site(runs: tuple[str, ...], out: Path) -> None:
    """Write the site of the runs into a folder, and print the path of its first page."""
    check_folder(out, "the site")
    run_dirs = list(_find(runs))
    names = Counter(path.resolve().name for path in run_dirs)
    twice = [path for path in run_dirs if names[path.resolve().name] > 1]
    if twice:
        raise click.UsageError(
            f"several runs have the name {twice[0].name}: {', '.join(map(str, twice))}; "
            "rename one of them, or leave it out"
        )
    with writing("the site", out):
        result = write_site(run_dirs, out, seed=SEED)
    for path, reason in result.left_out:
        echo(f"lab: {path.name} is left out: {reason}", err=True)
    pages = number_of(result.pages, "page")
    echo(f"lab: {number_of(len(run_dirs), 'run')}, {pages} of runs and cells written", err=True)
    echo(result.index)


def _find(names: tuple[str, ...]) -> Iterable[Path]:
    """Return the directories of the runs; each directory appears once.

    Raises:
        LabError: there is no run.
    """
    places: dict[Path, Path] = {}
    for name in names or (str(runs_root()),):
        run_dirs = [] if (Path(name) / "run.json").is_file() else list_runs(Path(name).absolute())
        if not run_dirs and not names:
            raise LabError(
                f"no run in {name}; make one with `lab run`, or name a folder of runs or LAB_RUNS"
            )
        paths = run_dirs or [find_run(name, runs_root())]
        places |= {path.resolve(): path for path in paths}
    return places.values()
