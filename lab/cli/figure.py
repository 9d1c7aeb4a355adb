"""`lab figure`: makes one of the papers' figures again and says what became of its claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamlab.lab.cli import EXIT_INTERRUPTED, EXIT_OK
from streamlab.lab.cli.completion import FIGURES, RUNS
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import find_run, runs_root
from streamlab.lab.errors import FigureError

if TYPE_CHECKING:
    from streamlab.lab.figures.figure import Figure, FigureStage
    from streamlab.lab.figures.options import Options
    from streamlab.results.store import Run

FORMATS = ("png", "svg", "pdf")


def _whole_numbers(_: Any, __: Any, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1:
        raise click.BadParameter(f"expected numbers from 1 with commas, e.g. 1,2,4; got {text!r}")
    return numbers


@click.command()
@click.argument("figure_id", metavar="FIGURE", **FIGURES)
@click.option(
    "--out",
    type=AbsolutePath(file_okay=False),
    help="Folder for the drawing and its record; default: results/figures.",
)
@click.option(
    "--run",
    "runs",
    **RUNS,
    multiple=True,
    help="Use this finished run instead of running; once a stage, in their order.",
)
@click.option("--resume", help="Go on with this interrupted run of the figure.", **RUNS)
@click.option(
    "--workers",
    callback=_whole_numbers,
    help="Degrees of parallelism, e.g. 1,2,4; default: up to the cores. More are marked.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    help="Fresh processes a cell; default: 8, 1 with --quick.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0, min_open=True),
    help="Share of the paper's lengths (input, phases and windows together); 1 is the paper's.",
)
@click.option(
    "--cores-within-ns",
    type=click.FloatRange(min=0, min_open=True),
    help="Let trials wait, up to a minute, until the cores are so close; see `lab doctor`.",
)
@click.option("--quick", is_flag=True, help="As short as still indicates something; no verdict.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS),
    help="File format of the drawing, may be repeated; default: all three.",
)
@click.option("--dry-run", is_flag=True, help="Print the cells of the first stage to run.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master for datasets.")
def figure(
    figure_id: str,
    out: Path | None,
    runs: tuple[str, ...],
    resume: str | None,
    workers: tuple[int, ...] | None,
    repetitions: int | None,
    scale: float | None,
    cores_within_ns: float | None,
    quick: bool,
    formats: tuple[str, ...],
    dry_run: bool,
    master: str,
) -> int:
    """Make FIGURE again (`stretch:6`; see `lab list figures`), beside what the paper published.

    Runs what it needs as ordinary runs below LAB_RUNS, draws it, writes a record in Markdown and
    JSON, and prints a verdict: reproduced, shape only, contradicted, inconclusive, or not
    comparable; with --quick only what is indicated. The last line printed is the record. Exit
    codes: as of `lab run`; a verdict is no failure.
    """
    from streamlab.lab.cli.write_errors import check_folder, writing
    from streamlab.lab.figures.options import Options
    from streamlab.lab.figures.record import JudgedFigure, claim_line, write
    from streamlab.lab.figures.registry import facts_of, find, missing_needs
    from streamlab.lab.figures.verdict import conclude
    from streamlab.workloads.control_group import usable_cores_here

    found = find(figure_id)
    chosen = Options(
        cores=max(1, int(usable_cores_here())),
        workers=workers,
        repetitions=repetitions,
        scale=scale,
        quick=quick,
        cores_within_ns=cores_within_ns,
    )
    _check_counts(found, runs, resume)
    read = [_read(name) for name in (*runs, *([resume] if resume else []))]
    options = _options(found, chosen, read)
    if (missing := missing_needs(found)) and len(runs) < len(found.stages):
        raise FigureError(f"{found.id} cannot be run here: there is no {', no '.join(missing)}")
    folder = out or Path("results/figures")
    if not dry_run:
        check_folder(folder, "the figure")
    code = EXIT_OK
    done: list[Run] = []
    for number, stage in enumerate(found.stages):
        reused = read[number] if number < len(read) else None
        is_resumed = resume is not None and number == len(runs)
        if reused is not None and not is_resumed:
            _check(found, stage, options, done, reused)
            done.append(reused)
            continue
        ended, measured = _run(found, stage, options, done, reused, dry_run=dry_run, master=master)
        if measured is None or ended == EXIT_INTERRUPTED:
            return ended
        code = max(code, ended)
        done.append(measured)
    outcome = found.outcome(options, done)
    verdict = conclude(outcome.claims, quick=options.quick)
    made = JudgedFigure(
        figure=found,
        options=options,
        runs=done,
        outcome=outcome,
        verdict=verdict,
        facts=facts_of(found),
    )
    with writing("the figure", folder):
        files = write(made, folder, formats or FORMATS)
    for claim in outcome.claims:
        click.echo(claim_line(claim))
    for note in outcome.notes:
        click.echo(f"note: {note}")
    click.echo(f"{found.id}: {made.text}: {verdict.reason}")
    for path in files:
        click.echo(str(path))
    return code


def _check_counts(found: "Figure", runs: tuple[str, ...], resume: str | None) -> None:
    given = len(runs) + (resume is not None)
    if given > len(found.stages):
        names = ", ".join(stage.name for stage in found.stages)
        raise click.UsageError(
            f"{found.id} takes {len(found.stages)} runs ({names}), {given} are given"
        )


def _read(name: str) -> "Run":
    from streamlab.results.store import read_run

    return read_run(find_run(name, runs_root()))


def _options(found: "Figure", chosen: "Options", runs: "list[Run]") -> "Options":
    """Return the options that runs to be reused were made with, else the chosen ones.

    Raises:
        FigureError: a choice contradicts them, or a run is of another figure.
    """
    from dataclasses import fields, replace

    from streamlab.lab.figures.options import parse_stamp
    from streamlab.results.machines import usable_cores

    for run in runs:
        stamp = parse_stamp(run.meta)
        cores = max(1, int(usable_cores(run.meta.get("host") or {}) or chosen.cores))
        if stamp is None:
            chosen = replace(chosen, cores=cores)
            continue
        figure_id, _, options = stamp
        if figure_id != found.id and not _shares(found, figure_id):
            raise FigureError(f"{run.path} is a run of {figure_id}, not of {found.id}")
        for field in fields(options):
            given, had = getattr(chosen, field.name), getattr(options, field.name)
            if field.name != "cores" and given not in (None, False, had):
                raise FigureError(
                    f"{run.path} was run with {field.name} = {had}, {given} is asked for now; "
                    f"leave out --{field.name.replace('_', '-')}, or run anew"
                )
        chosen = options
    return chosen


def _shares(found: "Figure", other_id: str) -> bool:
    """Tell whether two figures are drawn from the same runs, as a view and its zoom are."""
    from streamlab.lab.figures.registry import find

    return find(other_id).stages == found.stages


def _cells(found: "Figure", stage: "FigureStage", options: "Options", done: "list[Run]") -> Any:
    from streamlab.lab.matrix.cells import expand
    from streamlab.lab.matrix.matrix import parse_matrix
    from streamlab.lab.runner.datasets import check_entries

    plan = stage.plan(options, done)
    text = found.text(stage, plan, options)
    matrix = parse_matrix(text, f"{found.id}, {stage.name}")
    check_entries(matrix)
    return text, matrix, plan.only, expand(matrix, plan.only)


def _check(
    found: "Figure", stage: "FigureStage", options: "Options", done: "list[Run]", run: "Run"
) -> None:
    from streamlab.lab.figures.run_reuse import check

    *_, cells = _cells(found, stage, options, done)
    check(run, cells, found.id, stage.name)


def _run(
    found: "Figure",
    stage: "FigureStage",
    options: "Options",
    done: "list[Run]",
    resumed: "Run | None",
    *,
    dry_run: bool,
    master: str,
) -> "tuple[int, Run | None]":
    """Run one stage; the run is None where nothing was to be run."""
    from streamlab.lab.cli.run import execute, show_cells
    from streamlab.lab.runner.execution import RunRequest
    from streamlab.results.store import read_run

    text, matrix, only, cells = _cells(found, stage, options, done)
    if dry_run:
        show_cells(cells)
        return EXIT_OK, None
    number = found.stages.index(stage) + 1
    click.echo(f"{found.id}, {stage.name} ({number} of {len(found.stages)}): {stage.about}")
    made = execute(
        matrix,
        RunRequest(text=text, source=matrix.source, only=only),
        cells,
        resume=None if resumed is None else resumed.path,
        out=runs_root(),
        master=master,
    )
    if made.exit_code == EXIT_INTERRUPTED:
        before = "".join(f" --run {run.path}" for run in done)
        click.echo(
            f"lab: or, to draw it then: lab figure {found.id}{before} --resume {made.run_dir}",
            err=True,
        )
    return made.exit_code, read_run(made.run_dir)
