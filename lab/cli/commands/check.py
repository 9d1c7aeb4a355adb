"""Implements `lab check`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.progress import announce
from streamlab.lab.errors import LabError
from streamlab.workloads import references
from streamlab.workloads.model import (
    Dataflow,
    DGSProgram,
    ModelError,
    Operator,
    Pipeline,
    Program,
    Query,
    Workload,
)
from streamlab.workloads.optional_packages import missing_package
from streamlab.workloads.registry import workload


def check(program: str, examples: int, seed: int, quiet: bool) -> int:
    """Test PROGRAM against the laws of its programming model."""
    problem = missing_package("hypothesis")
    if problem is not None:
        raise LabError(str(problem))
    target = find_program(program)
    with _no_traces():  # importing Hypothesis also leaves files
        from streamlab.engines.multicore.compiled_law import compiled_law
        from streamlab.workloads.model.check import check as check_laws
        from streamlab.workloads.model.check import check_also

        with announce(f"laws of {target.name}", quiet=quiet, leave_line=False) as show:
            report = check_laws(target, examples=examples, seed=seed, progress=show)
        with announce(target.name, quiet=quiet, leave_line=False) as show:
            show("compiling functions", 0, 0)
            law = compiled_law(target)
            if isinstance(law, str):
                report = replace(report, skipped=(*report.skipped, f"compiled functions: {law}"))
            else:
                report = check_also(report, law, "compiled", seed=seed, progress=show)
    echo(report.render())
    return EXIT_OK if report.ok else EXIT_USER_ERROR


@contextmanager
def _no_traces() -> Iterator[None]:
    """Make Hypothesis store its files in a temporary folder, not in the current one."""
    from hypothesis.configuration import set_hypothesis_home_dir

    with TemporaryDirectory(prefix="lab-check-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def find_program(reference: str) -> Program:
    """Return the program of a workload, a module or a file.

    Raises:
        ModelError: the reference cannot be loaded, or is neither a program nor a workload.
    """
    if references.is_name(reference):
        return workload(reference).program
    target = references.load(reference)
    if isinstance(target, Workload):
        return target.program
    if isinstance(target, DGSProgram | Query | Pipeline | Dataflow):
        return target
    if isinstance(target, Operator):
        return Query(name=target.name, operators=(target,))
    raise ModelError(
        f"{reference} is a {type(target).__name__}, not a DGSProgram, Query, Operator, Pipeline, "
        "Dataflow or Workload"
    )
