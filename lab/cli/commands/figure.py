"""Implements `lab figure`."""

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import mean

import click

from streamlab.lab.cli import EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK, exit_code_of, message_of
from streamlab.lab.cli.commands.run import measure, show_cells
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.measure import FORMATS
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.paths import runs_root
from streamlab.lab.cli.progress import Verbosity, announce, time_text
from streamlab.lab.cli.write_errors import check_folder, writing
from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Figure, FigureStage
from streamlab.lab.figures.options import Options, parse_stamp
from streamlab.lab.figures.record import JudgedFigure, claim_line, write
from streamlab.lab.figures.registry import facts_of, figures, find, missing_needs
from streamlab.lab.figures.run_reuse import check
from streamlab.lab.figures.stored_figures import (
    StoredFigure,
    clear_failure,
    read_figure,
    write_failure,
)
from streamlab.lab.figures.verdict import conclude
from streamlab.lab.runner.run_plan import RunPlan, plan_run
from streamlab.results.machines import usable_cores
from streamlab.results.store import Run, read_run
from streamlab.workloads.control_group import usable_cores_here


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """Holds the options that a user sets for each figure.

    Attributes:
        choices: the figures' options that the user has set.
        folder: folder for drawings and records.
        formats: suffixes of the files to write.
        dry_run: whether only to print the cells.
        master: Spark master for datasets.
        quiet: whether to print only problems and the result.
    """

    choices: Options
    folder: Path
    formats: tuple[str, ...]
    dry_run: bool
    master: str
    quiet: bool


def figure(
    figure_id: str | None,
    every: bool,
    out: Path | None,
    runs: tuple[str, ...],
    resume: str | None,
    workers: tuple[int, ...] | None,
    repetitions: int | None,
    scale: float | None,
    cores_within_ns: float | None,
    dataset: str | None,
    quick: bool,
    formats: tuple[str, ...],
    dry_run: bool,
    master: str,
    quiet: bool,
) -> int:
    """Reproduce FIGURE (e.g. `stretch:6`; see `lab list figures`) and compare it with the paper's."""
    request = _Request(
        choices=Options(
            cores=max(1, int(usable_cores_here())),
            workers=workers,
            repetitions=repetitions,
            scale=scale,
            quick=quick,
            cores_within_ns=cores_within_ns,
            dataset=dataset,
        ),
        folder=out or Path("results/figures"),
        formats=formats or FORMATS,
        dry_run=dry_run,
        master=master,
        quiet=quiet,
    )
    if every == (figure_id is not None):
        raise click.UsageError("give either FIGURE (see `lab list figures`) or --all")
    if figure_id is not None:
        return _make(find(figure_id), request, runs, resume)
    if runs or resume is not None:
        raise click.UsageError("--run and --resume need a FIGURE; --all finds its runs itself")
    return _make_all(figures(), request)


def _make(target: Figure, request: _Request, runs: tuple[str, ...], resume: str | None) -> int:
    """Make one figure and return the exit code; `runs` and `resume` are names of existing runs."""
    _check_counts(target, runs, resume)
    reused_runs = [_read_run(name) for name in (*runs, *([resume] if resume else []))]
    options = _resolve_options(target, request.choices, reused_runs)
    if (missing_parts := missing_needs(target)) and len(runs) < len(target.stages):
        raise FigureError(f"{target.id} cannot be run here: missing {', '.join(missing_parts)}")
    if not request.dry_run:
        check_folder(request.folder, "the figure")
    code = EXIT_OK
    finished_runs: list[Run] = []
    for number, stage in enumerate(target.stages):
        reused_run = reused_runs[number] if number < len(reused_runs) else None
        is_resumed = resume is not None and number == len(runs)
        if reused_run is not None and not is_resumed:
            cells = _plan_stage(target, stage, options, finished_runs).cells
            check(reused_run, cells, target.id, stage.name)
            finished_runs.append(reused_run)
            continue
        stage_code, measured = _run_stage(
            target, stage, options, finished_runs, reused_run, request
        )
        if measured is None or stage_code == EXIT_INTERRUPTED:
            return stage_code
        code = max(code, stage_code)
        finished_runs.append(measured)
    with announce(target.id, quiet=request.quiet) as show:
        show("judging the claims", 0, 0)
        outcome = target.outcome(options, finished_runs)
        verdict = conclude(outcome.claims, quick=options.quick)
        record = JudgedFigure(
            figure=target,
            options=options,
            runs=finished_runs,
            outcome=outcome,
            verdict=verdict,
            facts=facts_of(target),
        )
        show("drawing", 0, 0)
        with writing("the figure", request.folder):
            files = write(record, request.folder, request.formats)
            clear_failure(target, request.folder)
    for claim in outcome.claims:
        echo(claim_line(claim))
    for note in outcome.notes:
        echo(f"note: {note}")
    echo(f"{target.id}: {record.text}: {verdict.reason}")
    for path in files:
        echo(str(path))
    return code


def _make_all(targets: Sequence[Figure], request: _Request) -> int:
    """Make the figures that the folder lacks, print a table of all figures, and return the highest exit code."""
    code = EXIT_OK
    results: dict[str, str] = {}
    times_s: list[float] = []
    todo = [target for target in targets if _stored_figure(target, request) is None]
    for target in targets:
        if target not in todo:
            continue
        remaining = len(todo) - len(times_s)
        time_left = f", about {time_text(remaining * mean(times_s))} left" if times_s else ""
        number = len(targets) - remaining + 1
        if not request.quiet:
            echo(f"figure {number} of {len(targets)}: {target.id}{time_left}", err=True)
        began = time.monotonic()
        try:
            figure_code, results[target.id] = _attempt(target, request)
        except KeyboardInterrupt:
            figure_code = EXIT_INTERRUPTED
        times_s.append(time.monotonic() - began)
        code = max(code, figure_code)
        if figure_code == EXIT_INTERRUPTED:
            results[target.id] = "interrupted"
            echo("lab: interrupted; the same command makes the remaining figures", err=True)
            break
    if request.dry_run:
        return code
    width = max((len(target.id) for target in targets), default=0)
    for target in targets:
        record = _stored_figure(target, request)
        result = "not made yet" if record is None else record.text
        echo(f"{target.id:{width}}  {results.get(target.id) or result}")
    return code


def _attempt(target: Figure, request: _Request) -> tuple[int, str]:
    """Make a figure; return the exit code, and the reason why no record exists (or an empty text).

    Like an unsupported cell of a run, a figure that lacks an engine is not a failure.
    """
    if missing_parts := missing_needs(target):
        code, reason = EXIT_OK, f"cannot be made here: missing {', '.join(missing_parts)}"
    else:
        try:
            return _make(target, request, _shared_runs(target, request), None), ""
        except BrokenPipeError:
            raise
        except Exception as error:
            exit_code = exit_code_of(error)
            if exit_code is None:
                traceback.print_exc()
            code = EXIT_BUG if exit_code is None else exit_code
            reason = f"failed: {repr(error) if exit_code is None else message_of(error)}"
    if not request.dry_run:
        write_failure(target, request.choices, reason, request.folder)
    return code, reason


def _stored_figure(target: Figure, request: _Request) -> StoredFigure | None:
    """Return the figure's record in the folder; None if the record has other options or lacks a drawing."""
    try:
        record = read_figure(target, request.folder)
    except FigureError:  # the record is damaged, so the figure is made again
        return None
    names = (f"{target.slug}.{suffix}" for suffix in request.formats)
    if record is None or record.options != request.choices:
        return None
    return record if all((request.folder / name).is_file() for name in names) else None


def _shared_runs(target: Figure, request: _Request) -> tuple[str, ...]:
    """Return the stored runs of any figure with the same stages and options; empty if there are none."""
    for figure in figures():
        record = _stored_figure(figure, request) if figure.stages == target.stages else None
        if record is not None:
            runs = [runs_root() / run.run for run in record.runs]
            if all(path.is_dir() for path in runs):
                return tuple(str(path) for path in runs)
    return ()


def _check_counts(figure: Figure, runs: tuple[str, ...], resume: str | None) -> None:
    count = len(runs) + (resume is not None)
    if count > len(figure.stages):
        names = ", ".join(stage.name for stage in figure.stages)
        raise click.UsageError(
            f"{figure.id} has {len(figure.stages)} stages ({names}), but got {count} runs; give at most "
            "one run per stage"
        )


def _read_run(name: str) -> Run:
    return read_run(find_run(name, runs_root()))


def _resolve_options(figure: Figure, choices: Options, runs: list[Run]) -> Options:
    """Return the options of the reused runs; without reused runs, the user's options."""
    for run in runs:
        stamp = parse_stamp(run.meta.matrix_text)
        cores = max(1, int(usable_cores(run.meta.host) or choices.cores))
        if stamp is None:
            choices = replace(choices, cores=cores)
            continue
        figure_id, _, options = stamp
        if figure_id != figure.id and not _share_stages(figure, figure_id):
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


def _share_stages(figure: Figure, other_id: str) -> bool:
    """Return whether two figures use the same runs, as a figure and its detail do."""
    return find(other_id).stages == figure.stages


def _plan_stage(
    figure: Figure, stage: FigureStage, options: Options, finished_runs: list[Run]
) -> RunPlan:
    plan = stage.plan(options, finished_runs)
    text = figure.text(stage, plan, options)
    return plan_run(text, f"{figure.id}, {stage.name}", only=plan.only)


def _run_stage(
    figure: Figure,
    stage: FigureStage,
    options: Options,
    finished_runs: list[Run],
    resumed_run: Run | None,
    request: _Request,
) -> tuple[int, Run | None]:
    """Run one stage and return its exit code and run; the run is None in a dry run."""
    plan = _plan_stage(figure, stage, options, finished_runs)
    if request.dry_run:
        show_cells(plan.cells)
        return EXIT_OK, None
    number = figure.stages.index(stage) + 1
    if not request.quiet:
        echo(f"{figure.id}, {stage.name} ({number} of {len(figure.stages)}): {stage.about}")
    resume = None if resumed_run is None else resumed_run.path
    verbosity = Verbosity.QUIET if request.quiet else Verbosity.USUAL
    outcome = measure(
        plan, resume=resume, out=runs_root(), master=request.master, verbosity=verbosity
    )
    if outcome.exit_code == EXIT_INTERRUPTED:
        run_options = "".join(f" --run {run.path}" for run in finished_runs)
        echo(
            f"lab: or, to draw the figure: lab figure {figure.id}{run_options} --resume "
            f"{outcome.run_dir}",
            err=True,
        )
    return outcome.exit_code, read_run(outcome.run_dir)
