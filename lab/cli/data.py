"""Declares `lab data`: generate, import, list, show and verify datasets."""

from contextlib import suppress
from decimal import Decimal, DecimalException
from importlib import import_module
from typing import Any

import click

from streamlab.lab.cli.completion import DATASETS, WORKLOADS
from streamlab.lab.cli.output import LazyCommand, SingleOptionCommand
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.workloads.default_folders import ROOT_VARIABLE

LARGEST_SEED = MAX_EVENTS = 2**63 - 1
"""The largest whole number that results can store."""
WAYS = ("auto", "process", "spark")

root_option = click.option(
    "--root",
    type=AbsolutePath(file_okay=False),
    help=f"Folder of the catalogue.  [default: ${ROOT_VARIABLE}, else see docs/data.md]",
)
master_option = click.option(
    "--master", default="local[*]", show_default=True, help="Spark master to run on."
)
way_option = click.option(
    "--with",
    "way",
    type=click.Choice(WAYS),
    default=WAYS[0],
    show_default=True,
    help="Make the dataset in this process or on Spark, with the same result; auto: on Spark if "
    "--master is set.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class EventCount(click.types.IntParamType):
    """The type of `--events`: a whole number of at least 1, also written `1_000_000` or `1e6`."""

    def __init__(self, maximum: int = MAX_EVENTS) -> None:
        """Accept numbers up to `maximum`."""
        self._maximum = maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or raise `BadParameter`."""
        try:
            number = Decimal(value)
            # Check the maximum first: converting 1e999999999 to an integer would fill the memory.
            if 1 <= number <= self._maximum and number == int(number):
                return int(number)
        except DecimalException:  # not a number
            pass
        return self.fail(
            f"{value!r} is not a whole number from 1 to {self._maximum:,}, such as 20000 or 1e6",
            param,
            ctx,
        )


class WholeNumbers(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.5
    """The type of a list of whole numbers of at least `least`, such as `1,2,4`."""

    name = "N,..."

    def __init__(self, least: int = 1) -> None:
        self._least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers, or raise `BadParameter`."""
        with suppress(ValueError):
            numbers = tuple(map(int, value.split(",")))
            if min(numbers) >= self._least:
                return numbers
        return self.fail(
            f"{value!r} is not a list of whole numbers of at least {self._least}, such as 1,2",
            param,
            ctx,
        )


class _LazySingleOptionCommand(SingleOptionCommand, LazyCommand):
    """A command without a body, whose options may be set only once."""


class _ImportGroup(click.Group):
    """Looks up the commands of `lab data import`, one for tables and one for each kind of raw file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all kinds."""
        names: list[str] = self._implementation().import_names()
        return names

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a kind."""
        command: click.Command = self._implementation().import_command(cmd_name)
        return command

    def _implementation(self) -> Any:
        return import_module("streamlab.lab.cli.commands.data_import")


@click.group(short_help="Generate, import, show and verify datasets.")
def data() -> None:
    """Generate, import, show and verify datasets."""


@data.command("build", cls=_LazySingleOptionCommand)
@click.argument("workload_name", metavar="WORKLOAD", **WORKLOADS)
@click.option("--param", "params", multiple=True, metavar="K=V", help="A generator parameter.")
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, LARGEST_SEED),
    help="Seed of the random numbers.",
)
@click.option(
    "--events",
    default=1_000_000,
    show_default=True,
    type=EventCount(),
    help="Approximate number of events in all streams.",
)
@way_option
@master_option
@root_option
def data_build() -> None:
    """Generate the input of WORKLOAD, unless the catalogue has it, and print the dataset's id."""


data.add_command(
    _ImportGroup(name="import", help="Import real data of a KIND and print the dataset's id.")
)


@data.command("list", cls=LazyCommand)
@_json_option
@root_option
def data_list() -> None:
    """List the datasets of the catalogue."""


@data.command("show", cls=LazyCommand)
@click.argument("dataset_id", metavar="ID", **DATASETS)
@_json_option
@root_option
def data_show() -> None:
    """Show the streams, files and origin of the dataset whose id starts with ID."""


@data.command("verify", cls=LazyCommand)
@click.argument("dataset_ids", metavar="[ID]...", nargs=-1, **DATASETS)
@root_option
def data_verify() -> None:
    """Check datasets' files against their checksums; without IDs, check all datasets.

    Prints one line per dataset, and one per damaged file, with the remedy. Exit codes: 0 no damage,
    2 a dataset is damaged.
    """
