"""What `lab run` takes for a workload instead of a matrix: options, and the matrix they make."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamlab.lab.cli.completion import DATASETS, ENGINES
from streamlab.workloads import references

if TYPE_CHECKING:
    from streamlab.lab.matrix.one_workload import OneWorkload

_OPTIONS = (
    click.option(
        "--engine",
        "engines",
        **ENGINES,
        multiple=True,
        metavar="NAME[/VARIANT]",
        help="With a WORKLOAD: run it on this engine; may be repeated.",
    ),
    click.option(
        "--workers", "-w", metavar="N,...", help="Numbers of workers; sequential engines have one."
    ),
    click.option("--batch", metavar="N,...", help="Batch sizes, where a variant takes one."),
    click.option(
        "--repetitions",
        "-n",
        type=click.IntRange(min=1),
        help="Fresh processes a cell; default 1.",
    ),
    click.option(
        "--events", type=click.IntRange(min=0), help="Events of generated input, about; default 1M."
    ),
    click.option("--seed", type=click.IntRange(min=0), help="Of generated input; default 1."),
    click.option(
        "--dataset",
        metavar="ID",
        help="Input of the catalogue, by the start of its id.",
        **DATASETS,
    ),
    click.option("--param", "params", multiple=True, metavar="K=V", help="Of the generator."),
    click.option("--query", "query", multiple=True, metavar="K=V", help="Of what is computed."),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="[ENGINE.]K=V",
        help="Of the engines, or of one of them.",
    ),
)


def workload_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a workload is run without a matrix."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def is_workload(given: str, asked: Mapping[str, Any]) -> bool:
    """Tell whether what is to be run is a workload, and no matrix.

    Args:
        given: the argument.
        asked: the options of `workload_options`.
    """
    if references.is_file(given):
        return True
    if given.endswith(".toml") or Path(given).is_file():
        return False
    from streamlab.workloads.registry import names

    return ":" in given or given in names() or bool(asked["engines"])


def refuse_options(asked: Mapping[str, Any]) -> None:
    """Refuse the options of `workload_options`, where there is a matrix.

    Raises:
        click.UsageError: one is given.
    """
    for parameter in click.get_current_context().command.params:
        if asked.get(parameter.name or "") not in (None, ()):
            raise click.UsageError(
                f"{parameter.opts[0]} goes with a WORKLOAD, not with a matrix, which says that "
                "itself"
            )


def one_workload(reference: str, asked: Mapping[str, Any]) -> "OneWorkload":
    """Return what is asked of a workload by options.

    Raises:
        click.UsageError: no engine is given, or an option is malformed.
    """
    from streamlab.lab.matrix.one_workload import OneWorkload

    if not asked["engines"]:
        raise click.UsageError(
            f"say on which engines {reference} is to run, e.g. --engine reference --engine "
            "multicore; `lab list engines` shows all"
        )
    return OneWorkload(
        reference=reference,
        engines=asked["engines"],
        workers=_numbers("--workers", asked["workers"]),
        batch=_numbers("--batch", asked["batch"]),
        repetitions=asked["repetitions"],
        options=_pairs("--option", asked["options"]),
        events=asked["events"],
        params=_pairs("--param", asked["params"]),
        seed=asked["seed"],
        dataset=asked["dataset"],
        query=_pairs("--query", asked["query"]),
    )


def _numbers(option: str, text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no list of whole numbers such as 1,2", param_hint=option
        ) from None


def _pairs(option: str, given: Sequence[str]) -> dict[str, Any]:
    """Return values by name; what reads as one of TOML's is that, all else is text."""
    pairs: dict[str, Any] = {}
    for text in given:
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
