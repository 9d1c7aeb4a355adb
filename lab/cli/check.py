"""`lab check`: tests a program against the laws of its programming model."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR
from streamlab.lab.cli.completion import WORKLOADS
from streamlab.lab.cli.output import LabCommand, echo

if TYPE_CHECKING:
    from streamlab.workloads.model import Program


@click.command("check", cls=LabCommand)
@click.argument("program", **WORKLOADS)
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Examples per law.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the examples.")
def check(program: str, examples: int, seed: int) -> int:
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
    target = find_program(program)
    with _no_traces():
        from streamlab.engines.multicore.compiled_law import compiled_law
        from streamlab.workloads.model.check import check as check_laws
        from streamlab.workloads.model.check import check_also

        report = check_laws(target, examples=examples, seed=seed)
        law = compiled_law(target)
        if isinstance(law, str):
            report = replace(report, skipped=(*report.skipped, f"compiled functions: {law}"))
        else:
            report = check_also(report, law, "compiled", seed=seed)
    echo(report.render())
    return EXIT_OK if report.ok else EXIT_USER_ERROR


@contextmanager
def _no_traces() -> Iterator[None]:
    """Let Hypothesis store its files in a temporary folder, not in the current one."""
    from hypothesis.configuration import set_hypothesis_home_dir

    with TemporaryDirectory(prefix="lab-check-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def find_program(reference: str) -> "Program":
    """Return the program of a workload, a module or a file.

    Raises:
        ModelError: the reference cannot be loaded, or is neither a program nor a workload.
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
    loaded = references.load(reference)
    if isinstance(loaded, Workload):
        return loaded.program
    if isinstance(loaded, DGSProgram | Query | Pipeline | Dataflow):
        return loaded
    if isinstance(loaded, Operator):
        return Query(name=loaded.name, operators=(loaded,))
    raise ModelError(
        f"{reference} is a {type(loaded).__name__}, not a DGSProgram, Query, Operator, Pipeline, "
        "Dataflow or Workload"
    )
