"""Parses the arguments of `lab run WORKLOAD`, and options of the form K=V of any command."""

import shlex
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from streamlab.lab.matrix.run_arguments import RunArguments
from streamlab.workloads import references
from streamlab.workloads.registry import names, suite

ENGINES = ("reference", "multicore")
"""The engines of `lab run WORKLOAD` without `--engine`; both run every program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """The options of `lab run` for a workload, named as in `streamlab.lab.cli.programs`."""

    engines: tuple[str, ...]
    commands: tuple[str, ...]
    workers: tuple[int, ...] | None
    batch: tuple[int, ...] | None
    repetitions: int | None
    timeout_s: float | None
    options: tuple[str, ...]
    events: int | None
    params: tuple[str, ...]
    seed: int | None
    dataset: str | None
    query: tuple[str, ...]
    load: tuple[str, ...]


def is_workload(argument: str, options: WorkloadOptions) -> bool:
    """Return whether the argument of `lab run` is a workload, not a matrix."""
    if references.is_file(argument):
        return True
    if argument.endswith(".toml") or Path(argument).is_file():
        return False
    return ":" in argument or argument in names() or bool(options.engines or options.commands)


def refuse_options(options: WorkloadOptions) -> None:
    """For a run of a matrix, raise a usage error if an option that requires a workload is set."""
    for parameter in click.get_current_context().command.params:
        if getattr(options, parameter.name or "", None) not in (None, ()):
            raise click.UsageError(
                f"{parameter.opts[0]} requires a WORKLOAD; with a matrix, set it in the file"
            )


def run_arguments(
    reference: str, options: WorkloadOptions, *, is_suite: bool = False
) -> RunArguments:
    """Return the arguments for a run of one workload, or of all workloads of a suite.

    Raises:
        click.UsageError: an option is malformed.
    """
    return RunArguments(
        workloads=suite(reference) if is_suite else [reference],
        name=reference if is_suite else "",
        engines=options.engines or (() if options.commands else ENGINES),
        commands=_check_commands(options.commands),
        workers=options.workers or (),
        batch=options.batch or (),
        repetitions=options.repetitions,
        timeout_s=options.timeout_s,
        options=_parse_values("--option", options.options),
        events=options.events,
        params=_parse_values("--param", options.params),
        seed=options.seed,
        dataset=options.dataset,
        query=_parse_values("--query", options.query),
        load=_parse_values("--load", options.load),
    )


def _check_commands(commands: Sequence[str]) -> Sequence[str]:
    """Return the commands after checking that their programs exist; the engine refuses malformed commands."""
    for command in commands:
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        if words and shutil.which(words[0]) is None:
            raise click.UsageError(
                f"--command: no program {words[0]!r} in PATH or the current folder; build it first, and "
                "name a file of this folder as ./program"
            )
    return commands


def _parse_values(option: str, texts: Sequence[str]) -> dict[str, object]:
    """Return values by name, from texts K=V; a value that is not valid TOML stays a text."""
    values: dict[str, object] = {}
    for name, value in split_pairs(option, texts):
        if name in values:
            raise click.BadParameter(f"{name} is set twice", param_hint=option)
        try:
            values[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            values[name] = value
    return values


def split_pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and values of an option with texts K=V."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not of the form K=V", param_hint=option)
        pairs.append((name, value))
    return pairs
