"""`lab check`: does a program keep the laws by which every parallel run gives the same answer?"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import extract_tb
from typing import TYPE_CHECKING

import click

from lab.cli import EXIT_OK, EXIT_USER_ERROR

if TYPE_CHECKING:
    from workloads.model import Program


@click.command("check")
@click.argument("program")
@click.option(
    "--examples", type=click.IntRange(min=1), default=200, show_default=True, help="Per law."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the generated histories.")
def check(program: str, examples: int, seed: int) -> int:
    """Test the laws of its programming model on PROGRAM.

    PROGRAM is a workload's name, or module:attribute.

    Of a program with dependency-guided synchronization: conditions C1 to C3, and the law of time:
    outputs carry the timestamp of the event that caused them, and a cut of the input gives the cut
    of the answer.

    Of a query of operators O+: the keys of a tuple depend on the tuple alone; functions emit what
    was declared, and keep nothing outside the windows; the answer does not depend on how keys are
    split over instances; outputs are sorted by time.

    Of an ordered pipeline: keys depend on the record alone; a stateless operator forwards the same
    for a record whatever came before it, a partitioned one what the records of the same key say;
    functions forward what was declared, and keep nothing outside the states.

    Prints a shrunk counterexample for each law that fails, and then leaves with code 2.
    """
    found = find_program(program)
    with _no_traces():
        from workloads.model.check import check as check_laws

        report = check_laws(found, examples=examples, seed=seed)
    click.echo(report.render())
    return EXIT_OK if report.ok else EXIT_USER_ERROR


def _place(error: BaseException) -> str:
    """Return where in a module its import failed; nothing where that is in no file of its own."""
    ours = {__file__, importlib.__file__}
    frames = [f for f in extract_tb(error.__traceback__) if f.filename not in ours]
    frames = [f for f in frames if not f.filename.startswith("<")]
    return f", in {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


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


def find_program(name: str) -> "Program":
    """Return the program of a workload, or the one that `module:attribute` names.

    Raises:
        click.BadParameter: it cannot be found or imported, or is neither a program nor a workload.
    """
    from workloads.model import DGSProgram, ModelError, Operator, Pipeline, Query, Workload
    from workloads.registry import workload

    module, colon, attribute = name.partition(":")
    if not colon:
        try:
            return workload(name).program
        except ModelError as error:
            raise click.BadParameter(f"{error}; or give module:attribute") from error
    # A console script does not search the current directory, where a program being written is.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        imported = import_module(module)
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        raise click.BadParameter(
            f"module {module!r} cannot be imported: {type(error).__name__}: {error}"
            f"{_place(error)}; it is looked for in {here} and among the installed packages"
        ) from error
    try:
        found = getattr(imported, attribute)
    except AttributeError as error:
        raise click.BadParameter(f"cannot get {attribute!r} from {module!r}: {error}") from error
    if isinstance(found, Workload):
        return found.program
    if isinstance(found, DGSProgram | Query | Pipeline):
        return found
    if isinstance(found, Operator):
        return Query(name=found.name, operators=(found,))
    raise click.BadParameter(
        f"{name} is a {type(found).__name__}, not a DGSProgram, Query, Operator, Pipeline or "
        "Workload"
    )
