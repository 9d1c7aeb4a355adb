"""Implements `lab plan`."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from streamlab.engines.multicore.deployment_picture import deployment_picture
from streamlab.engines.multicore.dgs.run import plan_costs
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.commands.arguments import split_pairs
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.progress import announce
from streamlab.lab.matrix.matrix import DEFAULT_BATCH
from streamlab.workloads import references
from streamlab.workloads.datasets.builder import ensure, generate_input
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import (
    Alphabet,
    Dataflow,
    DGSProgram,
    Input,
    Pipeline,
    Query,
    Workload,
)
from streamlab.workloads.model.dataflow.drawing import pictures_of
from streamlab.workloads.model.dataflow.plan import deploy, streams_of
from streamlab.workloads.model.dgs.plan_text import plan_svg, plan_text
from streamlab.workloads.model.dgs.stream_profile import StreamProfile, profile, profile_of_specs
from streamlab.workloads.model.picture import Picture, pictures_svg, pictures_text
from streamlab.workloads.model.workload import Program, dgs_program
from streamlab.workloads.optimizers import DEFAULT, Choice, PlanRequest, choose
from streamlab.workloads.registry import workload

MAX_SAMPLED = 2_000_000
"""Maximum number of generated events from which the optimizer measures costs."""


def plan(
    workload: str,
    workers: int,
    params: Sequence[str],
    events: int,
    dataset: str | None,
    optimizer: str | None,
    nodes: tuple[int, ...] | None,
    streams: Sequence[str],
    svg: Path | None,
) -> int:
    """Show how WORKLOAD runs in parallel, as text and as a picture."""
    target, program = _load_program(workload)
    values: dict[str, object] = dict(split_pairs("--param", params))
    if isinstance(program, DGSProgram):
        _refuse(workload, "a typed dataflow graph, query or pipeline", ("--streams", streams))
        assert target is not None, "a synchronization plan needs the workload's input"
        if dataset is None and target.source is None:
            choice = plan_for_parameters(target, values, events, workers, optimizer, nodes or ())
        else:
            data = _input_of(target, dataset, values, events)
            choice = plan_for_dataset(target, data, workers, optimizer, nodes or ())
        text = "\n".join([plan_text(choice.plan), *choice.reasons])
        return _show(text, svg, lambda: plan_svg(choice.plan))
    _refuse(workload, "a DGS program", ("--optimizer", optimizer), ("--nodes", nodes))
    pictures: tuple[Picture, ...]
    counts = _count_streams(program, target, dataset, values, events, streams)
    if isinstance(program, Dataflow):
        pictures = pictures_of(deploy(program, workers, streams=counts))
    else:
        pictures = (deployment_picture(program, workers, counts, DEFAULT_BATCH),)
    return _show(pictures_text(pictures), svg, lambda: pictures_svg(pictures))


def _refuse(reference: str, model: str, *options: tuple[str, object]) -> None:
    """Raise UsageError if an option that only another programming model has is set."""
    for option, value in options:
        if value:
            raise click.UsageError(
                f"{option} is for {model}, which {reference} is not; omit {option}"
            )


def _show(text: str, svg: Path | None, draw: Callable[[], str]) -> int:
    """Print a plan, and draw it to `svg` if not None."""
    echo(text)
    if svg is not None:
        try:
            svg.write_text(draw(), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise click.FileError(str(svg), error.strerror or str(error)) from error
        echo(f"wrote {svg}")
    return EXIT_OK


def _load_program(reference: str) -> tuple[Workload | None, Program]:
    """Return a workload and its program; the workload is None if the reference names only a program."""
    if not references.is_name(reference):
        loaded = references.load(reference)
        if isinstance(loaded, Dataflow | Query | Pipeline):
            return None, loaded
    target = workload(reference)
    return target, target.program


def _count_streams(
    program: Dataflow | Query | Pipeline,
    workload: Workload | None,
    dataset: str | None,
    values: dict[str, object],
    events: int,
    overrides: Sequence[str],
) -> list[int]:
    """Return the number of streams per kind, from `overrides`, or else from the input.

    A program without a workload has no input, so the default is one stream per kind.
    """
    if workload is None:
        for option, value in (("--param", values), ("--dataset", dataset)):
            if value:
                raise click.UsageError(
                    f"{option} is for a workload's input, but a program without a workload has no input; "
                    "use --streams"
                )
        counts = [1] * len(program.kinds)
    elif dataset is None and workload.source is None:
        specs = workload.streams(workload.params(values), events)
        counts = streams_of(program, (program.kind_indices(spec.kinds) for spec in specs))
    else:
        data = _input_of(workload, dataset, values, events)
        counts = streams_of(program, (stream.kinds for stream in data.streams))
    for text in overrides:
        kind, equals, count = text.rpartition("=")
        if not count.isdecimal() or int(count) < 1 or (equals and kind not in program.kinds):
            raise click.BadParameter(
                f"{text!r} is neither N nor KIND=N, with N at least 1 and a kind of "
                f"{program.name}: {', '.join(program.kinds)}",
                param_hint="--streams",
            )
        for index, name in enumerate(program.kinds):
            counts[index] = int(count) if kind in ("", name) else counts[index]
    return counts


def _input_of(
    workload: Workload, dataset: str | None, values: dict[str, object], events: int
) -> Dataset:
    """Return the dataset with an id; without an id, the dataset that the workload's source generates."""
    if dataset is None:
        with announce(f"dataset of {workload.name}") as progress:
            return ensure(workload, values, events, 1, progress=progress)
    if values:
        raise click.UsageError("--param is for generated input; a dataset has its own parameters")
    input_dataset = Catalog.default().get(dataset)
    if input_dataset.workload != workload.input_name:
        raise click.UsageError(
            f"dataset {dataset} is input of {input_dataset.workload}, not of {workload.input_name}; "
            "see `lab data list`"
        )
    return input_dataset


def plan_for_parameters(
    workload: Workload,
    values: dict[str, object],
    events: int,
    workers: int,
    optimizer: str | None = None,
    nodes: tuple[int, ...] = (),
) -> Choice:
    """Choose a synchronization plan for generated input, based on the sizes of the streams.

    A program with events across keys needs a sample of the input, because the sizes do not show the
    keys of a stream.
    """
    program = dgs_program(workload)
    params = workload.params(values)
    alphabet = Alphabet(kinds=program.kinds, keys=workload.keys(params))

    def sample() -> Input:
        return generate_input(workload, params, min(events, MAX_SAMPLED), 1)

    if program.across:
        streams = profile(sample())
    else:
        streams = profile_of_specs(workload.streams(params, events), alphabet)
    return _choose(program, alphabet, streams, sample, workers, optimizer, nodes)


def plan_for_dataset(
    workload: Workload,
    dataset: Dataset,
    workers: int,
    optimizer: str | None = None,
    nodes: tuple[int, ...] = (),
) -> Choice:
    """Choose a synchronization plan for a dataset, based on the counts of the dataset's tags."""
    data = dataset.load()
    program = dgs_program(workload)
    return _choose(program, data.alphabet, profile(data), lambda: data, workers, optimizer, nodes)


def _choose(
    program: DGSProgram,
    alphabet: Alphabet,
    streams: tuple[StreamProfile, ...],
    sample: Callable[[], Input],
    workers: int,
    optimizer: str | None,
    nodes: tuple[int, ...],
) -> Choice:
    request = PlanRequest(
        program=program,
        alphabet=alphabet,
        streams=streams,
        workers=workers,
        nodes=nodes,
        costs=lambda: plan_costs(program, sample(), workers),
    )
    return choose(optimizer or DEFAULT, request)
