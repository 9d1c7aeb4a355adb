"""`lab check`: tests a program against the laws of its programming model."""

import click

from streamlab.lab.cli.completion import WORKLOADS
from streamlab.lab.cli.output import LazyCommand


@click.command("check", cls=LazyCommand)
@click.argument("program", **WORKLOADS)
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Examples per law.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the examples.")
def check() -> None:
    """Test PROGRAM against the laws of its programming model.

    If the laws hold, every parallel run gives the same answer. PROGRAM is a workload's name,
    package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].

    DGS program: conditions C1 to C3; forks and joins, as deep as in a plan for 64 workers, give
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
