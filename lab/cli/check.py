"""`lab check`: is a program consistent, so that every plan gives the sequential answer?"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli import EXIT_OK, EXIT_USER_ERROR

if TYPE_CHECKING:
    from workloads.model import DGSProgram


@click.command("check")
@click.argument("program")
@click.option(
    "--examples", type=click.IntRange(min=1), default=200, show_default=True, help="Per law."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the generated histories.")
def check(program: str, examples: int, seed: int) -> int:
    """Test conditions C1 to C3 and the law of time on PROGRAM.

    PROGRAM is a workload's name, or module:attribute. The law of time: outputs carry the timestamp
    of the event that caused them, and a cut of the input gives the cut of the answer.

    Prints a shrunk counterexample for each condition that fails, and then leaves with code 2.
    """
    from workloads.model.check import check_program

    report = check_program(find_program(program), examples=examples, seed=seed)
    click.echo(report.render())
    return EXIT_OK if report.ok else EXIT_USER_ERROR


def find_program(name: str) -> "DGSProgram":
    """Return the program of a workload, or the one that `module:attribute` names.

    Raises:
        click.BadParameter: it cannot be found, or is neither a program nor a workload.
    """
    from workloads.model import DGSProgram, ModelError, Workload
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
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise click.BadParameter(f"cannot get {attribute!r} from {module!r}: {error}") from error
    if isinstance(found, Workload):
        return found.program
    if isinstance(found, DGSProgram):
        return found
    raise click.BadParameter(f"{name} is a {type(found).__name__}, not a DGSProgram or a Workload")
