"""Declares the commands about programs, engines and this machine."""

from pathlib import Path

import click

from streamlab.lab.cli.completion import DATASETS, ENGINES, WORKLOADS
from streamlab.lab.cli.data import EventCount, WholeNumbers
from streamlab.lab.cli.output import LazyCommand
from streamlab.lab.cli.paths import AbsolutePath

MAX_PLANNED_EVENTS = 10**15
"""Limit for `lab plan --events`: sums of stream frequencies must fit in 64 bits."""

_in_option = click.option(
    "--in",
    "place",
    type=AbsolutePath(file_okay=False),
    default=Path(),
    help="Parent folder of the package; default: the current folder.",
)


@click.command("plan", cls=LazyCommand, short_help="Show how a workload runs in parallel.")
@click.argument("workload", **WORKLOADS)
@click.option(
    "--workers", "-w", type=click.IntRange(min=1), required=True, help="Number of workers."
)
@click.option("--param", "params", multiple=True, metavar="K=V", help="A generator parameter.")
@click.option(
    "--events",
    type=EventCount(MAX_PLANNED_EVENTS),
    default=1_000_000,
    show_default=True,
    help="Size of the input to plan for; all keys count as equally frequent.",
)
@click.option(
    "--dataset", metavar="ID", help="Plan for this dataset and its frequencies.", **DATASETS
)
@click.option(
    "--optimizer",
    metavar="NAME",
    help="Optimizer: by-stream (default), balanced, appendix-b, cost, or an installed one.",
)
@click.option(
    "--nodes",
    type=WholeNumbers(least=0),
    help="For appendix-b: the worker where each stream arrives, e.g. 0,1,1.",
)
@click.option(
    "--streams",
    multiple=True,
    metavar="[KIND=]N",
    help="Number of streams per kind, except for a DGS program; default: as in the input.",
)
@click.option("--svg", type=AbsolutePath(dir_okay=False), help="Write SVG to this file.")
def plan() -> None:
    """Show how WORKLOAD runs in parallel, as text and as a picture.

    For a DGS program, shows the chosen synchronization plan. For other programs, shows what the
    multicore engine runs by default: operators with their instances, how rows reach these, windows,
    the size of states, and where order is restored. This depends on the number of streams per kind.

    The optimizer `cost` measures the program's steps on this machine for about a second, and prints
    the numbers that decide its choice. Other load on the machine may change the choice.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].
    """


@click.command(
    "explain", cls=LazyCommand, short_help="Show the query that an engine runs for a workload."
)
@click.argument("workload", **WORKLOADS)
@click.option("--engine", required=True, metavar="NAME", help="The engine.", **ENGINES)
@click.option("--variant", metavar="NAME", help="Variant of the engine; default: as for a run.")
def explain() -> None:
    """Show the query that ENGINE runs for WORKLOAD, or what it runs instead.

    DuckDB, Polars and Flink get a query generated from a declared workload (lab.window, lab.top, ...), which
    is printed as it runs. WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].
    """


@click.command(
    "check", cls=LazyCommand, short_help="Test a program against the laws of its programming model."
)
@click.argument("program", **WORKLOADS)
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Examples per law.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the examples.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def check() -> None:
    """Test PROGRAM against the laws of its programming model.

    If the laws hold, every parallel run gives the same answer. PROGRAM is a workload's name,
    package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].

    DGS program: conditions C1 to C3; forks and joins, as deep as in a plan for 256 workers, give
    the sequential answer; outputs carry the timestamp of the event that caused them; a prefix of
    the input gives a prefix of the answer.

    Query of operators O+: the keys of a tuple depend on the tuple alone; functions emit the
    declared types and keep no state outside the windows; the split of keys over instances does not
    change the answer; outputs are sorted by time.

    Ordered pipeline: keys depend on the record alone; a stateless operator's output depends on the
    record alone, a partitioned operator's on the records of its key; functions forward the declared
    types and keep no state outside the operators' states.

    Typed dataflow graph: ordered operators keep keys; functions are deterministic and change only
    their output arguments; combine is associative and commutative and has an identity; equivalent
    inputs give equivalent outputs, at each vertex and overall; outputs have the declared types;
    every deployment gives the sequential answer.

    For programs that the native core can run: compiled functions give the interpreted answer and
    keep to the bounds of their arrays.

    If a program adds floats in no fixed order, the laws are also tested with rounding numbers. The
    report names joins that are not associative, with the largest relative difference.

    Prints a minimal counterexample for each law that fails. Exit codes: 0 all laws hold, 2 a law
    fails.
    """


@click.group("new", short_help="Create your own engine, workload or program.")
def new() -> None:
    """Create a package that passes its tests, or a program, as a starting point."""


@new.command("engine", cls=LazyCommand)
@click.argument("name")
@click.option(
    "--streaming", is_flag=True, help="Take event after event; default: the whole input at once."
)
@_in_option
def new_engine() -> None:
    """Create engine NAME: pyproject.toml, README, a class that runs one workload, and a test."""


@new.command("workload", cls=LazyCommand)
@click.argument("name")
@_in_option
def new_workload() -> None:
    """Create workload NAME: pyproject.toml, README, a program on a CSV file, an oracle, a test."""


@new.command("program", cls=LazyCommand)
@click.argument("name")
@click.option(
    "--language",
    type=click.Choice(("python", "awk", "c", "go", "javascript", "rust")),
    default="python",
    show_default=True,
    help="Language of the program.",
)
@_in_option
def new_program() -> None:
    """Create program NAME, one short file: it reads events as CSV and prints the answer of event_window.

    `lab run WORKLOAD --command COMMAND` runs it as an engine.
    """


@click.command("conform", cls=LazyCommand, short_help="Run the conformance suite on an engine.")
@click.argument("name", **ENGINES)
@click.option(
    "--workload", "workloads", multiple=True, help="Only this workload; repeatable.", **WORKLOADS
)
@click.option("--variant", "variants", multiple=True, help="Only this variant; repeatable.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=1), help="Seconds per workload.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
def conform() -> None:
    """Run the conformance suite on engine NAME: small inputs at the edges of the contract.

    Each variant runs each workload in a separate process. Cases: ordinary input, no input, one
    event, one stream, ties, only heartbeats, more workers than streams, and offered loads if
    supported. A case passes if the answer is the oracle's, all events are accounted for, and
    nothing keeps running. A refusal with a reason is not a failure.

    Exit codes: 0 passed, 2 nothing is supported, 3 a case has no answer, 4 an answer is wrong.
    """


@click.command(
    "environment", cls=LazyCommand, short_help="Install the packages that an engine needs."
)
@click.argument("name", **ENGINES)
def environment() -> None:
    """Install the packages that engine NAME needs, at locked versions, in a separate environment.

    Needs network access to the package index. `lab list engines` shows the engines with an
    environment, and whether it is installed.
    """


@click.command("doctor", cls=LazyCommand, short_help="Check this machine, and suggest remedies.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@click.option(
    "--generator",
    "generator",
    is_flag=True,
    help="Measure instead the highest rate of each load generator; about a second each.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    help="With --generator: only this engine; repeatable.",
    **ENGINES,
)
def doctor() -> None:
    """Check whether this machine is fit for measurements, and suggest remedies.

    `warn`: numbers are less reliable, or a column of the results stays empty. `missing`: something does not work.
    The exit code is always 0.
    """
