"""`lab plan`: the synchronization plan that the optimizer chooses for a workload."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli import EXIT_OK
from lab.cli.complete import DATASETS, WORKLOADS

if TYPE_CHECKING:
    from workloads.model import Workload
    from workloads.model.plan import Plan

MOST_EVENTS = 10**15
"""Frequencies of streams are added up in 64 bits, many times over."""


@click.command("plan")
@click.argument("workload", **WORKLOADS)
@click.option("--workers", "-w", type=click.IntRange(min=1), required=True, help="How many.")
@click.option("--param", "params", multiple=True, metavar="K=V", help="A generator parameter.")
@click.option(
    "--events",
    type=click.IntRange(0, MOST_EVENTS),
    default=1_000_000,
    show_default=True,
    help="Size of the input to plan for; its keys count as equally frequent.",
)
@click.option(
    "--dataset", metavar="ID", help="Plan for this dataset, with its own frequencies.", **DATASETS
)
@click.option("--dot", type=click.Path(path_type=Path, dir_okay=False), help="Write Graphviz here.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write SVG here.")
def plan(
    workload: str,
    workers: int,
    params: Sequence[str],
    events: int,
    dataset: str | None,
    dot: Path | None,
    svg: Path | None,
) -> int:
    """Show the synchronization plan chosen for WORKLOAD, as text and as a picture.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].
    """
    from workloads.model.render import plan_dot, plan_text
    from workloads.registry import workload as find_workload

    found = find_workload(workload)
    if dataset is not None and params:
        raise click.UsageError("--param belongs to generated input; a dataset has its own")
    if dataset is None and found.source is not None:
        from lab.cli.progress import announce
        from workloads.datasets.build import ensure
        from workloads.model.narrow import dgs_program

        dgs_program(found)  # refused before its input is made
        with announce(f"dataset of {found.name}") as progress:
            dataset = ensure(found, _pairs(params), events, 1, progress=progress).id
    if dataset is not None:
        chosen = plan_for_dataset(found, dataset, workers)
    else:
        chosen = plan_for_parameters(found, _pairs(params), events, workers)
    click.echo(plan_text(chosen))
    if dot is not None:
        _write(dot, plan_dot(chosen))
    if svg is not None:
        from workloads.model.picture import plan_svg

        _write(svg, plan_svg(chosen))
    return EXIT_OK


def plan_for_parameters(
    workload: "Workload", given: dict[str, object], events: int, workers: int
) -> "Plan":
    """Return the plan for generated input, from the sizes of its streams alone."""
    from workloads.model import Alphabet
    from workloads.model.narrow import dgs_program
    from workloads.model.optimizer import choose_plan
    from workloads.model.profile import profile_of_specs
    from workloads.model.validity import check_plan

    program = dgs_program(workload)
    params = workload.params(given)
    alphabet = Alphabet(kinds=program.kinds, keys=workload.keys(params))
    streams = profile_of_specs(workload.streams(params, events), alphabet)
    chosen = choose_plan(program, alphabet, streams, workers)
    check_plan(chosen, streams)
    return chosen


def plan_for_dataset(workload: "Workload", dataset_id: str, workers: int) -> "Plan":
    """Return the plan for a dataset, whose tags are counted."""
    from workloads.datasets.catalog import Catalog
    from workloads.model.narrow import dgs_program
    from workloads.model.optimizer import choose_plan
    from workloads.model.profile import profile
    from workloads.model.validity import check_plan

    program = dgs_program(workload)
    dataset = Catalog.default().get(dataset_id)
    if dataset.workload != workload.input_name:
        raise click.UsageError(
            f"dataset {dataset_id} is input of {dataset.workload}, not of {workload.input_name}; "
            "see `lab data list`"
        )
    data = dataset.load()
    streams = profile(data)
    chosen = choose_plan(program, data.alphabet, streams, workers)
    check_plan(chosen, streams)
    return chosen


def _pairs(params: Sequence[str]) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for text in params:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(
                f"{text!r} is not of the form name=value", param_hint="--param"
            )
        pairs[name] = value
    return pairs


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(path), error.strerror or str(error)) from error
    click.echo(f"wrote {path}")
