"""`lab plan`: how a workload is run in parallel, by its synchronization plan or its deployment."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.completion import DATASETS, WORKLOADS
from streamlab.lab.cli.paths import AbsolutePath

if TYPE_CHECKING:
    from streamlab.workloads.datasets.dataset import Dataset
    from streamlab.workloads.model import Dataflow, DGSProgram, Input, Workload
    from streamlab.workloads.model.dataflow.plan import Deployment
    from streamlab.workloads.optimizers import Choice, Costs

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
@click.option(
    "--streams",
    multiple=True,
    metavar="[KIND=]N",
    help="Of a graph: how many streams there are of each kind; otherwise those of the input.",
)
@click.option("--combine", type=click.Choice(("always", "never")), help="Of a graph: as for a run.")
@click.option("--soundness", type=click.Choice(("typed", "none")), help="Of a graph: as for a run.")
@click.option("--dot", type=AbsolutePath(dir_okay=False), help="Write Graphviz here.")
@click.option("--svg", type=AbsolutePath(dir_okay=False), help="Write SVG here.")
def plan(
    workload: str,
    workers: int,
    params: Sequence[str],
    events: int,
    dataset: str | None,
    optimizer: str | None,
    streams: Sequence[str],
    combine: str | None,
    soundness: str | None,
    dot: Path | None,
    svg: Path | None,
) -> int:
    """Show how WORKLOAD is parallelized, as text and as a picture.

    Of a program with dependency-guided synchronization: the synchronization plan that is chosen. Of
    a typed dataflow graph: the graph, and its deployment as variant dataflow of multicore runs it,
    by rules that keep its meaning; of the input it minds how many streams there are of each kind.

    The optimizer `cost` measures on this machine what the program's steps cost, for about a second,
    and says in numbers why it chose; with other work on the machine it may choose otherwise.

    WORKLOAD is a name, package.module:ATTRIBUTE, or path/to/file.py[:ATTRIBUTE].
    """
    from streamlab.workloads.model.dataflow.plan import deploy
    from streamlab.workloads.model.dgs.plan_text import plan_dot, plan_text
    from streamlab.workloads.model.program_type import dgs_program

    found, flow = _meant(workload)
    if flow is not None:
        if optimizer is not None:
            raise click.UsageError(
                f"--optimizer is of synchronization plans; {workload} is a typed dataflow graph, "
                "whose deployment depends on no costs"
            )
        deployed = deploy(
            flow,
            workers,
            streams=_streams(flow, found, dataset, params, events, streams),
            partials=combine != "never",
            sound=soundness != "none",
        )
        return _show_deployment(deployed, dot, svg)
    assert found is not None, "a graph alone is a graph"
    for option, given in (
        ("--streams", streams),
        ("--combine", combine),
        ("--soundness", soundness),
    ):
        if given:
            raise click.UsageError(f"{option} is of typed dataflow graphs, which {workload} is not")
    if dataset is None and found.source is None:
        choice = plan_for_parameters(found, pairs(params), events, workers, optimizer)
    else:
        dgs_program(found)  # refused before its input is made
        read = _input_of(found, dataset, params, events)
        choice = plan_for_dataset(found, read, workers, optimizer)
    chosen = choice.plan
    click.echo("\n".join([plan_text(chosen), *choice.reasons]))
    if dot is not None:
        _write(dot, plan_dot(chosen))
    if svg is not None:
        from streamlab.workloads.model.dgs.plan_drawing import plan_svg

        _write(svg, plan_svg(chosen))
    return EXIT_OK


def _meant(reference: str) -> "tuple[Workload | None, Dataflow | None]":
    """Return the workload that is meant, and its typed dataflow graph; a graph may be by itself."""
    from streamlab.workloads import references
    from streamlab.workloads.model import Dataflow
    from streamlab.workloads.registry import workload

    if not references.is_name(reference):
        loaded = references.load(reference)
        if isinstance(loaded, Dataflow):
            return None, loaded
    found = workload(reference)
    return found, found.program if isinstance(found.program, Dataflow) else None


def _streams(
    flow: "Dataflow",
    workload: "Workload | None",
    dataset: str | None,
    params: Sequence[str],
    events: int,
    given: Sequence[str],
) -> list[int]:
    """Return how many streams a graph has of each kind: those of its input, or as they are given.

    A graph without a workload, which has no input, has one of each.
    """
    from streamlab.workloads.model.dataflow.plan import streams_of

    if workload is None:
        for option, value in (("--param", params), ("--dataset", dataset)):
            if value:
                raise click.UsageError(
                    f"{option} is of a workload's input; this is a graph alone. Give --streams"
                )
        counts = [1] * len(flow.kinds)
    elif dataset is None and workload.source is None:
        specs = workload.streams(workload.params(pairs(params)), events)
        counts = streams_of(flow, (flow.kind_indices(spec.kinds) for spec in specs))
    else:
        read = _input_of(workload, dataset, params, events)
        counts = streams_of(flow, (stream.kinds for stream in read.streams))
    for text in given:
        kind, equals, count = text.rpartition("=")
        if not count.isdecimal() or int(count) < 1 or (equals and kind not in flow.kinds):
            raise click.BadParameter(
                f"{text!r} is not a number of streams, at least 1, nor KIND=N with a kind of "
                f"{flow.name}: {', '.join(flow.kinds)}",
                param_hint="--streams",
            )
        for index, name in enumerate(flow.kinds):
            counts[index] = int(count) if kind in ("", name) else counts[index]
    return counts


def _input_of(
    workload: "Workload", dataset: str | None, params: Sequence[str], events: int
) -> "Dataset":
    """Return the dataset that is meant; None: the one that a workload's own source makes."""
    from streamlab.lab.cli.progress import announce
    from streamlab.workloads.datasets.builder import ensure
    from streamlab.workloads.datasets.catalog import Catalog

    if dataset is None:
        with announce(f"dataset of {workload.name}") as progress:
            return ensure(workload, pairs(params), events, 1, progress=progress)
    if params:
        raise click.UsageError("--param belongs to generated input; a dataset has its own")
    found = Catalog.default().get(dataset)
    if found.workload != workload.input_name:
        raise click.UsageError(
            f"dataset {dataset} is input of {found.workload}, not of {workload.input_name}; "
            "see `lab data list`"
        )
    return found


def _show_deployment(deployed: "Deployment", dot: Path | None, svg: Path | None) -> int:
    from streamlab.workloads.model.dataflow.drawing import deployment_dot, deployment_text

    click.echo(deployment_text(deployed))
    if dot is not None:
        _write(dot, deployment_dot(deployed))
    if svg is not None:
        from streamlab.workloads.model.dataflow.drawing_svg import deployment_svg

        _write(svg, deployment_svg(deployed))
    return EXIT_OK


def plan_for_parameters(
    workload: "Workload",
    given: dict[str, object],
    events: int,
    workers: int,
    optimizer: str | None = None,
) -> "Choice":
    """Return the choice for generated input, from the sizes of its streams alone.

    Of a program with events across keys, from its beginning: sizes do not say which keys a stream
    has, nor how many groups there are.
    """
    from streamlab.workloads.datasets.generated_input import generate_input
    from streamlab.workloads.model import Alphabet
    from streamlab.workloads.model.dgs.stream_profile import profile, profile_of_specs
    from streamlab.workloads.model.program_type import dgs_program
    from streamlab.workloads.optimizers import DEFAULT, PlanRequest, choose

    program = dgs_program(workload)
    params = workload.params(given)
    alphabet = Alphabet(kinds=program.kinds, keys=workload.keys(params))

    def sample() -> "Input":
        return generate_input(workload, params, min(events, MOST_SAMPLED), 1)

    request = PlanRequest(
        program=program,
        alphabet=alphabet,
        streams=profile(sample())
        if program.across
        else profile_of_specs(workload.streams(params, events), alphabet),
        workers=workers,
        costs=lambda: _costs(program, sample(), workers),
    )
    return choose(optimizer or DEFAULT, request)


def plan_for_dataset(
    workload: "Workload", dataset: "Dataset", workers: int, optimizer: str | None = None
) -> "Choice":
    """Return the choice for a dataset, whose tags are counted."""
    from streamlab.workloads.model.dgs.stream_profile import profile
    from streamlab.workloads.model.program_type import dgs_program
    from streamlab.workloads.optimizers import DEFAULT, PlanRequest, choose

    program = dgs_program(workload)
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
    from streamlab.engines.multicore.dgs.run import (
        plan_costs,  # heavy, and not what most plans need
    )

    return plan_costs(program, data, workers)


def pairs(params: Sequence[str]) -> dict[str, object]:
    """Return parameters by name; those given last count."""
    found: dict[str, object] = {}
    for text in params:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(
                f"{text!r} is not of the form name=value", param_hint="--param"
            )
        found[name] = value
    return found


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise click.FileError(str(path), error.strerror or str(error)) from error
    click.echo(f"wrote {path}")
