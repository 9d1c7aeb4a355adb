"""Declares the commands that measure: `lab run`, `lab figure` and `lab gate`."""

import click

from streamlab.lab.cli.completion import DATASETS, ENGINES, FIGURES, RUNS, WORKLOADS
from streamlab.lab.cli.data import EventCount, WholeNumbers
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath, runs_option

FORMATS = ("png", "svg", "pdf", "md")
GATE_METRICS = ("wall", "cpu", "p50", "p99", "rss", "energy", "instructions")

_master_option = click.option(
    "--master", default="local[*]", show_default=True, help="Spark master for datasets."
)


@click.command(
    "run",
    cls=LazyCommand,
    short_help="Run a matrix of workloads on engines, verified and measured.",
)
@click.argument("what", required=False, metavar="[MATRIX|WORKLOAD]", **WORKLOADS)
@click.option(
    "--engine",
    "engines",
    **ENGINES,
    multiple=True,
    metavar="NAME[/VARIANT]",
    help="With a WORKLOAD: run it on this engine; repeatable; default: reference and multicore.",
)
@click.option(
    "--command",
    "commands",
    multiple=True,
    help="With a WORKLOAD: run this command as an engine; repeatable. It reads the events as CSV from "
    "{input}, or standard input, and prints the answer as CSV.",
)
@click.option(
    "--workers", "-w", type=WholeNumbers(), help="Numbers of workers; sequential engines use one."
)
@click.option("--batch", type=WholeNumbers(), help="Batch sizes, for variants that use one.")
@click.option(
    "--repetitions",
    "-n",
    type=click.IntRange(min=1),
    help="Fresh processes per cell; default 1.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=float,
    metavar="SECONDS",
    help="Time limit of a trial, in addition to the length of its load; default 120.",
)
@click.option(
    "--events",
    type=EventCount(),
    help="Approximate number of generated events, such as 20000 or 1e6; default 1M.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the generator; default 1.")
@click.option(
    "--dataset",
    metavar="ID",
    help="Use the dataset whose id starts with ID.",
    **DATASETS,
)
@click.option(
    "--param", "params", multiple=True, metavar="K=V", help="A parameter of the generator."
)
@click.option("--query", "query", multiple=True, metavar="K=V", help="A query parameter.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="[ENGINE.]K=V",
    help="An option of all engines, or of one.",
)
@click.option(
    "--load",
    "load",
    multiple=True,
    metavar="K=V",
    help="Offer events at due times: a key of [[load]], such as rate_eps=10_000.",
)
@click.option(
    "--suite",
    metavar="INPUT",
    help="Run every workload on this input, such as nexmark, as WORKLOAD.",
)
@click.option("--demo", is_flag=True, help="Run the matrix that ships with the lab.")
@click.option(
    "--real-data",
    type=AbsolutePath(exists=True, file_okay=False),
    help="With --demo: also run on the real page views and edits in this folder.",
)
@click.option(
    "--only", multiple=True, help="Run only cells whose id matches this pattern; repeatable."
)
@click.option("--dry-run", is_flag=True, help="Print the cells; run nothing.")
@click.option(
    "--resume",
    **RUNS,
    metavar="RUN",
    help="Resume an interrupted run: its directory, its name in --out, or `latest`. Needs no "
    "MATRIX.",
)
@runs_option("--out", about="Folder of runs")
@click.option("--quiet", "-q", is_flag=True, help="Print only problems, and the run directory.")
@click.option(
    "--verbose", "-v", is_flag=True, help="Print each trial's plan, costs, counters and log, too."
)
@click.option("--report", is_flag=True, help="Write the run's report, too, and print its path.")
@click.option("--keep-outputs", is_flag=True, help="Store each cell's answer in outputs/.")
@_master_option
def run() -> None:
    """Run the cells of MATRIX, a TOML file, or WORKLOAD on engines, each trial in a fresh process.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE]. If it declares
    several outputs (lab.outputs), all of them run.

    With --command any program is an engine, verified like all others: lab run event_window --command
    './sums {input}'. It starts in the current folder; `lab new program` writes an example.

    Each answer is compared with the oracle's after the timed part. The last line printed is the run
    directory. Exit codes: 0 all cells ok, unsteady, unsustained or unsupported, 3 an engine failed
    or no cell of an --engine ran, 4 an answer was wrong, 130 interrupted.
    """


@click.command(
    "quickstart",
    cls=LazyCommand,
    short_help="Run three workloads on engines without Java, in half a minute.",
)
@runs_option("--out", about="Folder of runs")
def quickstart() -> None:
    """Run three workloads on the multicore engine, NumPy and sequential Python, each answer verified.

    Prints a table, writes a page, and names the next commands to try. Exit codes: as for `lab run`.
    """


@click.command(
    "figure", cls=LazyCommand, short_help="Reproduce a figure of a paper, with a verdict."
)
@click.argument("figure_id", required=False, metavar="[FIGURE]", **FIGURES)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Make every figure that --out does not have with these options.",
)
@click.option(
    "--out",
    type=AbsolutePath(file_okay=False),
    help="Folder for the figure and its record; default: results/figures.",
)
@click.option(
    "--run",
    "runs",
    **RUNS,
    multiple=True,
    help="Use this finished run for a stage; once per stage, in order.",
)
@click.option("--resume", help="Resume this interrupted run of the figure.", **RUNS)
@click.option(
    "--workers",
    type=WholeNumbers(),
    help="Degrees of parallelism, e.g. 1,2,4; default: up to the number of cores.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    help="Fresh processes per cell; default: 8, 1 with --quick.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0, min_open=True),
    help="Length of input, phases and windows relative to the paper's; 1 is the paper's.",
)
@click.option(
    "--cores-within-ns",
    type=click.FloatRange(min=0, min_open=True),
    help="Delay a trial, up to a minute, until the latency between cores is below this; see `lab "
    "doctor`.",
)
@click.option(
    "--dataset",
    metavar="ID",
    help="Use the dataset whose id starts with ID, for the workloads that can read it.",
    **DATASETS,
)
@click.option("--quick", is_flag=True, help="Make a short run, for an indication, not a verdict.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS),
    help="File format of the drawing, or md for the record; repeatable. Default: all.",
)
@click.option("--dry-run", is_flag=True, help="Print the cells of the first stage to run.")
@click.option("--quiet", "-q", is_flag=True, help="Print only problems and the result.")
@_master_option
def figure() -> None:
    """Reproduce FIGURE (e.g. `stretch:6`; see `lab list figures`) and compare it with the paper's.

    Makes the required runs below LAB_RUNS, draws the figure and writes a record in Markdown and
    JSON, and the trials as CSV. Prints a verdict: reproduced, shape only, contradicted,
    inconclusive, or not comparable; with --quick only an indication. The last line printed is the
    record's path. Exit codes: as for `lab run`; a verdict is never a failure.

    With --all, a figure that cannot be made is recorded with the reason, and the next one follows.
    After an interruption, the same command makes the rest.
    """


@click.command(
    "gate", cls=LazyCommand, short_help="Fail on a confirmed regression against a revision or run."
)
@click.argument("matrix", required=False, type=AbsolutePath())
@click.option(
    "--against",
    metavar="REV",
    help="Build this revision, then alternate trials of it and of the working tree.",
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
    help="Compare with a stored run (path or name), a file of instruction counts, or pytest-benchmark files "
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
    type=click.Choice(GATE_METRICS),
    help="Metric to gate; repeatable. Default: wall and cpu, plus rss and p99 where they repeat.",
)
@click.option(
    "--advisory",
    multiple=True,
    type=click.Choice(GATE_METRICS),
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
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="With --self-test: number of rounds.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.1),
    default=15.0,
    show_default=True,
    help="With --self-test: start no round after this time.",
)
@runs_option("--out", about="Folder of runs")
@_master_option
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
