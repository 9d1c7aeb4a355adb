"""`lab plan`: how a workload is run in parallel, by its synchronization plan or its deployment."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli import EXIT_OK
from lab.cli.complete import DATASETS, WORKLOADS

if TYPE_CHECKING:
    from workloads.model import Dataflow, DGSProgram, Input, Workload
    from workloads.optimizers import Choice, Costs

MOST_SAMPLED = 2_000_000
"""Events that are generated to measure costs with."""
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
@click.option(
    "--optimizer",
    metavar="NAME",
    help="Who chooses: by-stream (the default), balanced, appendix-b, cost, or an installed one.",
)
@click.option("--dot", type=click.Path(path_type=Path, dir_okay=False), help="Write Graphviz here.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write SVG here.")
def plan(
    workload: str,
    workers: int,
    params: Sequence[str],
    events: int,
    dataset: str | None,
    optimizer: str | None,
    dot: Path | None,
    svg: Path | None,
) -> int:
    """Show how WORKLOAD is parallelized, as text and as a picture.

    Of a program with dependency-guided synchronization: the synchronization plan that is chosen. Of
    a typed dataflow graph: the graph, and its deployment with so many instances of each operator,
    by rules that keep its meaning; these need no input.

    The optimizer `cost` measures on this machine what the program's steps cost, for about a second,
    and says in numbers why it chose; with other work on the machine it may choose otherwise.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].
    """
    from workloads.model.render import plan_dot, plan_text
    from workloads.registry import workload as find_workload

    flow = _dataflow(workload)
    if flow is not None:
        for option, given in (
            ("--param", params),
            ("--dataset", dataset),
            ("--optimizer", optimizer),
        ):
            if given:
                raise click.UsageError(
                    f"{option} is of synchronization plans; {workload} is a typed dataflow graph, "
                    "whose deployment depends on neither input nor costs"
                )
        return _show_deployment(flow, workers, dot, svg)
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
        choice = plan_for_dataset(found, dataset, workers, optimizer)
    else:
        choice = plan_for_parameters(found, _pairs(params), events, workers, optimizer)
    chosen = choice.plan
    click.echo("\n".join([plan_text(chosen), *choice.because]))
    if dot is not None:
        _write(dot, plan_dot(chosen))
    if svg is not None:
        from workloads.model.picture import plan_svg

        _write(svg, plan_svg(chosen))
    return EXIT_OK


def _dataflow(reference: str) -> "Dataflow | None":
    """Return the typed dataflow graph that is meant, be it a workload's or by itself."""
    from workloads import references
    from workloads.model import Dataflow
    from workloads.registry import workload

    if references.is_name(reference):
        program: object = workload(reference).program
    else:
        loaded = references.load(reference)
        program = getattr(loaded, "program", loaded)
    return program if isinstance(program, Dataflow) else None


def _show_deployment(flow: "Dataflow", workers: int, dot: Path | None, svg: Path | None) -> int:
    from workloads.model.dataflow.deployment import deploy
    from workloads.model.dataflow.drawing import deployment_dot, deployment_text

    deployed = deploy(flow, workers)
    click.echo(deployment_text(deployed))
    if dot is not None:
        _write(dot, deployment_dot(deployed))
    if svg is not None:
        from workloads.model.dataflow.drawing_svg import deployment_svg

        _write(svg, deployment_svg(deployed))
    return EXIT_OK


def plan_for_parameters(
    workload: "Workload",
    given: dict[str, object],
    events: int,
    workers: int,
    optimizer: str | None = None,
) -> "Choice":
    """Return the choice for generated input, from the sizes of its streams alone."""
    from workloads.datasets.generated import generated
    from workloads.model import Alphabet
    from workloads.model.narrow import dgs_program
    from workloads.model.profile import profile_of_specs
    from workloads.optimizers import DEFAULT, PlanRequest, choose

    program = dgs_program(workload)
    params = workload.params(given)
    alphabet = Alphabet(kinds=program.kinds, keys=workload.keys(params))

    def sample() -> "Input":
        return generated(workload, params, min(events, MOST_SAMPLED), 1)

    request = PlanRequest(
        program=program,
        alphabet=alphabet,
        streams=profile_of_specs(workload.streams(params, events), alphabet),
        workers=workers,
        costs=lambda: _costs(program, sample(), workers),
    )
    return choose(optimizer or DEFAULT, request)


def plan_for_dataset(
    workload: "Workload", dataset_id: str, workers: int, optimizer: str | None = None
) -> "Choice":
    """Return the choice for a dataset, whose tags are counted."""
    from workloads.datasets.catalog import Catalog
    from workloads.model.narrow import dgs_program
    from workloads.model.profile import profile
    from workloads.optimizers import DEFAULT, PlanRequest, choose

    program = dgs_program(workload)
    dataset = Catalog.default().get(dataset_id)
    if dataset.workload != workload.input_name:
        raise click.UsageError(
            f"dataset {dataset_id} is input of {dataset.workload}, not of {workload.input_name}; "
            "see `lab data list`"
        )
    data = dataset.load()
    request = PlanRequest(
        program=program,
        alphabet=data.alphabet,
        streams=profile(data),
        workers=workers,
        costs=lambda: _costs(program, data, workers),
    )
    return choose(optimizer or DEFAULT, request)


def _costs(program: "DGSProgram", data: "Input", workers: int) -> "Costs":
    from engines.multicore.dgs.run import plan_costs  # heavy, and not what most plans need

    return plan_costs(program, data, workers)


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
