"""`lab gate`: fails on a confirmed regression, for continuous integration."""

import click

from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import runs_option

METRICS = ("wall", "cpu", "p50", "p99", "rss", "energy", "instructions")


@click.command(cls=LazyCommand)
@click.argument("matrix", required=False, type=AbsolutePath())
@click.option(
    "--against",
    metavar="REV",
    help="Build this revision, and measure it and the working tree in turn.",
)
@click.option(
    "--repo",
    metavar="DIR",
    type=AbsolutePath(exists=True, file_okay=False),
    help="With --against: gate the repository in this folder, not the lab's source.",
)
@click.option(
    "--build",
    metavar="COMMAND",
    help="With --repo: command that builds a revision, e.g. 'pip install --no-deps --target {site} "
    ".'; it runs in the revision's folder, {source}. Default: none, for pure Python.",
)
@click.option(
    "--build-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=1),
    default=1800,
    show_default=True,
    help="With --build: time limit of the command.",
)
@click.option(
    "--baseline",
    **RUNS,
    multiple=True,
    help="Compare with a stored run (path or name), a file of counts, or pytest-benchmark files "
    "(globs).",
)
@click.option(
    "--run", "run_name", metavar="RUN", help="With --baseline: gate this stored run.", **RUNS
)
@click.option("--instructions", type=AbsolutePath(), help="Gate this file of counts.")
@click.option(
    "--pytest-benchmark",
    "benchmarks",
    multiple=True,
    help="Gate these pytest-benchmark files (globs).",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    type=click.Choice(METRICS),
    help="Metric to gate; repeatable. Default: wall and cpu, plus rss and p99 where they repeat.",
)
@click.option(
    "--advisory",
    multiple=True,
    type=click.Choice(METRICS),
    help="Show this metric, but never fail on it; repeatable.",
)
@click.option(
    "--only", multiple=True, help="Gate only cells whose id matches this pattern; repeatable."
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Fresh processes per arm, cell and stage; at least 4.",
)
@click.option("--accept", type=AbsolutePath(), help="File with accepted regressions.")
@click.option("--junit", type=AbsolutePath(), help="Write JUnit XML to this file.")
@click.option("--json", type=AbsolutePath(), help="Write JSON to this file.")
@click.option("--page", type=AbsolutePath(), help="Write an HTML page to this file.")
@click.option("--markdown", type=AbsolutePath(), help="Append a Markdown summary to this file.")
@click.option(
    "--allow-inconclusive", is_flag=True, help="Exit with 0, not 6, if the gate is inconclusive."
)
@click.option(
    "--plant",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="PERCENT",
    help="With --against: add busy work to the new arm, to test the gate.",
)
@click.option("--self-test", is_flag=True, help="Measure the gate's false alarms and power.")
@click.option("--rounds", type=click.IntRange(min=1), default=20, show_default=True)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.1),
    default=15.0,
    show_default=True,
    help="With --self-test: start no round after this time.",
)
@runs_option("--out", about="Folder of runs")
@click.option("--master", default="local[*]", show_default=True, help="Spark master for datasets.")
def gate() -> None:
    """Compare the working tree, or a run, with an older one; fail on a confirmed regression.

    \b
    lab gate --against REV MATRIX            build REV, measure both in turn (preferred)
    lab gate --repo DIR --build COMMAND --against REV MATRIX      the same for your own repository
    lab gate --baseline RUN MATRIX           measure MATRIX now, compare with a stored run
    lab gate --baseline RUN --run RUN        compare two stored runs, in one stage
    lab gate --instructions FILE             compare counts with results/baselines
    lab gate --against REV --metric instructions    count both now; with --repo, cells
    lab gate --pytest-benchmark NEW --baseline OLD
    lab gate --self-test

    A cell that is no longer verified always fails. Exit codes: 0 passed, 2 the gate could not run,
    3 an engine failed, 5 a regression or a wrong answer, 6 inconclusive (cells are unstable, or
    have too few processes or no number), 130 interrupted.
    """  # noqa: D301 - the backslash is click's mark for text that is not wrapped
