"""Defines the options with which `lab run` runs one workload without a matrix."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from streamlab.lab.cli.completion import DATASETS, ENGINES
from streamlab.lab.matrix.run_arguments import RunArguments
from streamlab.workloads import references
from streamlab.workloads.registry import names

_OPTIONS = (
    click.option(
        "--engine",
        "engines",
        **ENGINES,
        multiple=True,
        metavar="NAME[/VARIANT]",
        help="With a WORKLOAD: run it on this engine; repeatable.",
    ),
    click.option(
        "--workers", "-w", metavar="N,...", help="Numbers of workers; sequential engines use one."
    ),
    click.option("--batch", metavar="N,...", help="Batch sizes, for variants that use one."),
    click.option(
        "--repetitions",
        "-n",
        type=click.IntRange(min=1),
        help="Fresh processes per cell; default 1.",
    ),
    click.option(
        "--events",
        type=click.IntRange(min=0),
        help="Approximate number of generated events; default 1M.",
    ),
    click.option("--seed", type=click.IntRange(min=0), help="Seed of the generator; default 1."),
    click.option(
        "--dataset",
        metavar="ID",
        help="Use this dataset; the start of its id.",
        **DATASETS,
    ),
    click.option(
        "--param", "params", multiple=True, metavar="K=V", help="A parameter of the generator."
    ),
    click.option("--query", "query", multiple=True, metavar="K=V", help="A query parameter."),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="[ENGINE.]K=V",
        help="An option of all engines, or of one.",
    ),
)


def workload_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for a workload without a matrix to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def is_workload(argument: str, options: Mapping[str, Any]) -> bool:
    """Return whether the argument of `lab run` is a workload, not a matrix."""
    if references.is_file(argument):
        return True
    if argument.endswith(".toml") or Path(argument).is_file():
        return False
    return ":" in argument or argument in names() or bool(options["engines"])


def refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse the options of `workload_options` together with a matrix.

    Raises:
        click.UsageError: an option is set.
    """
    for parameter in click.get_current_context().command.params:
        if options.get(parameter.name or "") not in (None, ()):
            raise click.UsageError(
                f"{parameter.opts[0]} requires a WORKLOAD; with a matrix, set it in the file"
            )


def run_arguments(reference: str, options: Mapping[str, Any]) -> RunArguments:
    """Return the arguments of a run of one workload.

    Raises:
        click.UsageError: no engine is given, or an option is malformed.
    """
    if not options["engines"]:
        raise click.UsageError(
            f"no engine for {reference}; use e.g. --engine reference --engine multicore; "
            "`lab list engines` shows all"
        )
    return RunArguments(
        workloads=[reference],
        engines=options["engines"],
        workers=_numbers("--workers", options["workers"]),
        batch=_numbers("--batch", options["batch"]),
        repetitions=options["repetitions"],
        options=_pairs("--option", options["options"]),
        events=options["events"],
        params=_pairs("--param", options["params"]),
        seed=options["seed"],
        dataset=options["dataset"],
        query=_pairs("--query", options["query"]),
    )


def _numbers(option: str, text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a list of whole numbers such as 1,2", param_hint=option
        ) from None


def _pairs(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return values by name, from texts K=V; values are read as TOML, else kept as text."""
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not of the form K=V", param_hint=option)
        if name in pairs:
            raise click.BadParameter(f"{name} is given twice", param_hint=option)
        try:
            pairs[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            pairs[name] = value
    return pairs
