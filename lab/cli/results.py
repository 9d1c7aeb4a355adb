"""Declares the commands that show, compare, exchange or list results, such as `lab report`."""

import click

from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath, runs_option

COMPARE_METRICS = ("throughput", "cpu", "p50", "p99", "r_pass", "energy", "rss")
EXPORT_FORMS = ("bmf", "google-benchmark", "pytest-benchmark", "hyperfine", "csv")
HISTORY_METRICS = ("throughput", "cpu", "p50", "p99", "energy", "rss")


@click.command(
    "report",
    cls=LazyCommand,
    short_help="Write an HTML report of one run, or of several side by side.",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", **RUNS)
@click.option(
    "--out",
    type=AbsolutePath(dir_okay=False),
    help="File to write; default: report.html in the run's directory, or comparison.html in the "
    "last run's directory for several runs.",
)
def report() -> None:
    """Write the report of RUN as one HTML file and print its path.

    RUN is a run's directory, the name of a stored run or a part of it (`lab list runs`), or
    `latest`. For one run and without --out, the figures are also written as SVG and PNG into
    `figures` in its directory. Several runs are shown side by side and compared with the first: ratios with
    intervals as in `lab compare`, and the differences between the runs.
    """


@click.command("answer", cls=LazyCommand, short_help="Show the answer of a run, decoded.")
@click.argument("run", **RUNS)
@click.option(
    "--cell",
    "pattern",
    metavar="PATTERN",
    help="Show the answer of the cells whose id matches PATTERN; needed if a run has several answers.",
)
@click.option("--output", metavar="NAME", help="Show only this output of several (lab.outputs).")
@click.option("--head", type=click.IntRange(min=0), help="Show only this many rows.")
@runs_option("--runs", "root", about="Folder of runs")
def answer() -> None:
    """Show the answer that the verified cells of RUN gave, with texts and times decoded.

    RUN is a run's directory, the name of a stored run or a part of it, or `latest`. Ids of texts are
    shown as texts, and event times in the zone of the input.
    """


@click.command(
    "history", cls=LazyCommand, short_help="Plot each cell over all stored runs of a machine."
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", **RUNS)
@click.option(
    "--metric",
    type=click.Choice(HISTORY_METRICS),
    default="throughput",
    show_default=True,
    help="Metric to plot.",
)
@click.option(
    "--out",
    type=AbsolutePath(dir_okay=False),
    help="File to write; default: history.html in the folder of runs.",
)
@runs_option("--runs", "root", about="Folder of runs")
def history() -> None:
    """Plot each cell over the stored runs of a machine, and mark abrupt changes, in one HTML file.

    Without RUN, uses all runs on the machine of the newest run; the page lists the other runs. With RUN
    (a directory, or a name in the folder of runs), uses these runs, which must be of one machine.
    Prints the path of the page.
    """


@click.command("site", cls=LazyCommand, short_help="Write a static site of many runs.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", **RUNS)
@click.option(
    "--out",
    required=True,
    type=AbsolutePath(file_okay=False),
    help="Folder of the site; an existing site is updated.",
)
def site() -> None:
    """Write a static site of RUN: reports, each cell over all runs, and comparisons of any two.

    RUN is a run's directory, the name of a stored run or a part of it, `latest`, or a folder of runs;
    without RUN, all stored runs. The site needs no network and no server. A run's page is written
    again only if the run or the lab has changed. Runs that cannot be read are listed and left out.
    Prints the path of the first page.
    """


@click.command("compare", cls=LazyCommand, short_help="Compare two runs: ratios with intervals.")
@click.argument("run_a", **RUNS)
@click.argument("run_b", **RUNS)
@click.option(
    "--metric",
    "names",
    multiple=True,
    type=click.Choice(COMPARE_METRICS),
    help="Compare only this metric; repeatable. Default: all that both runs have.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Compare cells and machines that differ, too, and mark the output.",
)
@click.option(
    "--out",
    type=AbsolutePath(file_okay=False),
    help="Folder for compare.md and one figure per metric (SVG, PNG).",
)
@runs_option("--runs", about="Folder of runs")
def compare() -> None:
    """Compare run B with run A: ratios of medians over fresh processes, with intervals.

    A run is a directory, the name of a stored run or a part of it, or `latest`. Only verified
    trials count. Runs of different machines are refused; cells with different inputs or settings
    are listed and left out. Exit codes: 0 compared, 2 no cell can be compared. Use `lab gate` to
    fail on regressions.
    """


@click.command("export", cls=LazyCommand, short_help="Write a run in another tool's format.")
@click.argument("run", **RUNS)
@click.option(
    "--to",
    "form",
    required=True,
    type=click.Choice(EXPORT_FORMS),
    help="Format: Bencher's metric format (bmf), the JSON of a tool, or CSV of all trials.",
)
@click.option(
    "--out", type=AbsolutePath(dir_okay=False), help="File to write; default: standard output."
)
@runs_option("--runs", "root", about="Folder of runs")
def exchange_export() -> None:
    """Write the verified cells of RUN in the format of another tool.

    Each cell is a benchmark, with the time of each fresh process. Cells without a number are left out
    and named on standard error. So are cells under a load; only Bencher's format has latencies. RUN
    is a run's directory, the name of a stored run or a part of it, or `latest`.
    """


@click.command("import-run", cls=LazyCommand, short_help="Store another tool's results as a run.")
@click.argument("files", nargs=-1, required=True, type=AbsolutePath(exists=True), metavar="FILE...")
@click.option("--name", help="Name of the run; default: the tool's.")
@runs_option("--out", "root", about="Folder of runs")
def exchange_import() -> None:
    """Store results of another tool as a run that `report`, `compare`, `history` and `gate` take.

    FILE is output of pytest-benchmark, Google Benchmark, hyperfine, JMH or Criterion.rs
    (estimates.json or the folder target/criterion), Bencher's metric format, or CSV with the columns
    cell and duration_s. Several files of one tool are several processes of its benchmarks. The lab
    checked no answer, so the trials have the status `imported`. To import events, use `lab data import`.
    """


@click.command("list", cls=LazyCommand, short_help="List workloads, engines, figures or runs.")
@click.argument("what", type=click.Choice(["workloads", "engines", "figures", "runs"]))
@click.option("--json", "as_json", is_flag=True, help="Print JSON; see docs/json.md.")
@runs_option("--out", about="With runs: their folder")
def list_things() -> None:
    """List workloads with their parameters, engines with their variants, figures, or runs."""
