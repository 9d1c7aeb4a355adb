"""Reads the arguments of `lab run WORKLOAD`, a run without a matrix."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from streamlab.lab.matrix.run_arguments import RunArguments
from streamlab.workloads import references
from streamlab.workloads.registry import names


def is_workload(argument: str, options: Mapping[str, Any]) -> bool:
    """Return whether the argument of `lab run` is a workload, not a matrix."""
    if references.is_file(argument):
        return True
    if argument.endswith(".toml") or Path(argument).is_file():
        return False
    return ":" in argument or argument in names() or bool(options["engines"])


def refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse the options for a workload together with a matrix.

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
