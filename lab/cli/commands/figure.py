"""Implements `lab figure`."""

from dataclasses import fields, replace
from pathlib import Path

import click

from streamlab.lab.cli import EXIT_INTERRUPTED, EXIT_OK
from streamlab.lab.cli.commands.run import measure, show_cells
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.measure import FORMATS
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.paths import runs_root
from streamlab.lab.cli.write_errors import check_folder, writing
from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Figure, FigureStage
from streamlab.lab.figures.options import Options, parse_stamp
from streamlab.lab.figures.record import JudgedFigure, claim_line, write
from streamlab.lab.figures.registry import facts_of, find, missing_needs
from streamlab.lab.figures.run_reuse import check
from streamlab.lab.figures.verdict import conclude
from streamlab.lab.runner.run_plan import RunPlan, plan_run
from streamlab.results.machines import usable_cores
from streamlab.results.store import Run, read_run
from streamlab.workloads.control_group import usable_cores_here


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
    """Reproduce FIGURE (e.g. `stretch:6`; see `lab list figures`) and compare it with the paper's."""
    target = find(figure_id)
    choices = Options(
        cores=max(1, int(usable_cores_here())),
        workers=workers,
        repetitions=repetitions,
        scale=scale,
        quick=quick,
        cores_within_ns=cores_within_ns,
    )
    _check_counts(target, runs, resume)
    stored = [_read(name) for name in (*runs, *([resume] if resume else []))]
    options = _options(target, choices, stored)
    if (missing := missing_needs(target)) and len(runs) < len(target.stages):
        raise FigureError(f"{target.id} cannot be run here: missing {', '.join(missing)}")
    folder = out or Path("results/figures")
    if not dry_run:
        check_folder(folder, "the figure")
    code = EXIT_OK
    finished: list[Run] = []
    for number, stage in enumerate(target.stages):
        reused = stored[number] if number < len(stored) else None
        is_resumed = resume is not None and number == len(runs)
        if reused is not None and not is_resumed:
            cells = _plan(target, stage, options, finished).cells
            check(reused, cells, target.id, stage.name)
            finished.append(reused)
            continue
        ended, measured = _run(
            target, stage, options, finished, reused, dry_run=dry_run, master=master
        )
        if measured is None or ended == EXIT_INTERRUPTED:
            return ended
        code = max(code, ended)
        finished.append(measured)
    outcome = target.outcome(options, finished)
    verdict = conclude(outcome.claims, quick=options.quick)
    record = JudgedFigure(
        figure=target,
        options=options,
        runs=finished,
        outcome=outcome,
        verdict=verdict,
        facts=facts_of(target),
    )
    with writing("the figure", folder):
        files = write(record, folder, formats or FORMATS)
    for claim in outcome.claims:
        echo(claim_line(claim))
    for note in outcome.notes:
        echo(f"note: {note}")
    echo(f"{target.id}: {record.text}: {verdict.reason}")
    for path in files:
        echo(str(path))
    return code


def _check_counts(figure: Figure, runs: tuple[str, ...], resume: str | None) -> None:
    count = len(runs) + (resume is not None)
    if count > len(figure.stages):
        names = ", ".join(stage.name for stage in figure.stages)
        raise click.UsageError(
            f"{figure.id} has {len(figure.stages)} stages ({names}), but got {count} runs"
        )


def _read(name: str) -> Run:
    return read_run(find_run(name, runs_root()))


def _options(figure: Figure, choices: Options, runs: list[Run]) -> Options:
    """Return the options of the reused runs, or the chosen ones without such runs."""
    for run in runs:
        stamp = parse_stamp(run.meta.matrix_text)
        cores = max(1, int(usable_cores(run.meta.host) or choices.cores))
        if stamp is None:
            choices = replace(choices, cores=cores)
            continue
        figure_id, _, options = stamp
        if figure_id != figure.id and not _shares(figure, figure_id):
            raise FigureError(f"{run.path} is a run of {figure_id}, not of {figure.id}")
        for field in fields(options):
            choice, value = getattr(choices, field.name), getattr(options, field.name)
            if field.name != "cores" and choice not in (None, False, value):
                raise FigureError(
                    f"{run.path} was run with {field.name} = {value}, not {choice}; "
                    f"omit --{field.name.replace('_', '-')}, or make a new run"
                )
        choices = options
    return choices


def _shares(figure: Figure, other_id: str) -> bool:
    """Return whether two figures use the same runs, as a figure and its detail do."""
    return find(other_id).stages == figure.stages


def _plan(figure: Figure, stage: FigureStage, options: Options, finished: list[Run]) -> RunPlan:
    plan = stage.plan(options, finished)
    text = figure.text(stage, plan, options)
    return plan_run(text, f"{figure.id}, {stage.name}", only=plan.only)


def _run(
    figure: Figure,
    stage: FigureStage,
    options: Options,
    finished: list[Run],
    resumed: Run | None,
    *,
    dry_run: bool,
    master: str,
) -> tuple[int, Run | None]:
    """Run one stage and return its exit code and run; the run is None with `dry_run`."""
    plan = _plan(figure, stage, options, finished)
    if dry_run:
        show_cells(plan.cells)
        return EXIT_OK, None
    number = figure.stages.index(stage) + 1
    echo(f"{figure.id}, {stage.name} ({number} of {len(figure.stages)}): {stage.about}")
    resume = None if resumed is None else resumed.path
    outcome = measure(plan, resume=resume, out=runs_root(), master=master)
    if outcome.exit_code == EXIT_INTERRUPTED:
        before = "".join(f" --run {run.path}" for run in finished)
        echo(
            f"lab: or, to draw the figure: lab figure {figure.id}{before} --resume "
            f"{outcome.run_dir}",
            err=True,
        )
    return outcome.exit_code, read_run(outcome.run_dir)
