"""`lab check`: does a program keep the laws by which every parallel run gives the same answer?"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR
from streamlab.lab.cli.completion import WORKLOADS

if TYPE_CHECKING:
    from streamlab.workloads.model import Program


@click.command("check")
@click.argument("program", **WORKLOADS)
@click.option(
    "--examples", type=click.IntRange(min=1), default=200, show_default=True, help="Per law."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the generated histories.")
def check(program: str, examples: int, seed: int) -> int:
    """Test the laws of its programming model on PROGRAM.

    PROGRAM is a workload's name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].

    Of a program with dependency-guided synchronization: conditions C1 to C3; the law of wires:
    events that are forked and joined, as deeply as a plan for 64 workers does, give the answer that
    they give in sequence; and the law of time:
    outputs carry the timestamp of the event that caused them, and a cut of the input gives the cut
    of the answer.

    Of a query of operators O+: the keys of a tuple depend on the tuple alone; functions emit what
    was declared, and keep nothing outside the windows; the answer does not depend on how keys are
    split over instances; outputs are sorted by time.

    Of an ordered pipeline: keys depend on the record alone; a stateless operator forwards the same
    for a record whatever came before it, a partitioned one what the records of the same key say;
    functions forward what was declared, and keep nothing outside the states.

    Of a typed dataflow graph: an ordered operator keeps keys; functions change only what they fill,
    and do the same again; combine is associative and commutative and has its identity; equivalent
    inputs have equivalent outputs, at each vertex and for the whole; outputs are what was declared;
    and every deployment, in whatever interleaving, gives the sequential answer.

    Of each that the native core can run: compiled functions answer as interpreted ones, and no
    index is outside of its array.

    Where floats are added in no fixed order, laws are tested again on numbers that round: joins
    that do not associate are named, with the largest relative difference and an example.

    Prints a shrunk counterexample for each law that fails, and then leaves with code 2.
    """
    found = find_program(program)
    with _no_traces():
        from streamlab.engines.multicore.compiled_law import compiled_law
        from streamlab.workloads.model.check import check as check_laws
        from streamlab.workloads.model.check import check_also

        report = check_laws(found, examples=examples, seed=seed)
        law = compiled_law(found)
        if isinstance(law, str):
            report = replace(report, skipped=(*report.skipped, f"compiled functions: {law}"))
        else:
            report = check_also(report, law, "compiled", seed=seed)
    click.echo(report.render())
    return EXIT_OK if report.ok else EXIT_USER_ERROR


@contextmanager
def _no_traces() -> Iterator[None]:
    """Let Hypothesis keep what it keeps in a folder that is removed, not in the current one."""
    from hypothesis.configuration import set_hypothesis_home_dir

    with TemporaryDirectory(prefix="lab-check-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def find_program(reference: str) -> "Program":
    """Return the program of a workload, or the one that a module or file has.

    Raises:
        ModelError: it cannot be found or loaded, or is neither a program nor a workload.
    """
    from streamlab.workloads import references
    from streamlab.workloads.model import (
        Dataflow,
        DGSProgram,
        ModelError,
        Operator,
        Pipeline,
        Query,
        Workload,
    )
    from streamlab.workloads.registry import workload

    if references.is_name(reference):
        return workload(reference).program
    found = references.load(reference)
    if isinstance(found, Workload):
        return found.program
    if isinstance(found, DGSProgram | Query | Pipeline | Dataflow):
        return found
    if isinstance(found, Operator):
        return Query(name=found.name, operators=(found,))
    raise ModelError(
        f"{reference} is a {type(found).__name__}, not a DGSProgram, Query, Operator, Pipeline, "
        "Dataflow or Workload"
    )
