"""Implements `lab run`."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import streamlab.lab
from streamlab.lab.cli import EXIT_ENGINE_FAILURE, EXIT_INTERRUPTED, EXIT_OK, EXIT_WRONG_OUTPUT
from streamlab.lab.cli.commands.arguments import (
    WorkloadOptions,
    is_workload,
    refuse_options,
    run_arguments,
)
from streamlab.lab.cli.commands.report import write_pages
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.progress import Terminal, Verbosity, announce, time_text
from streamlab.lab.cli.table import print_results
from streamlab.lab.cli.write_errors import check_folder
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.matrix.toml_table import read_text
from streamlab.lab.runner.datasets import check_inputs
from streamlab.lab.runner.estimate import estimate
from streamlab.lab.runner.execution import execute
from streamlab.lab.runner.real_data import (
    REAL_INPUTS,
    as_tables,
    find_real_input,
    import_real_input,
)
from streamlab.lab.runner.run_plan import RunPlan, plan_run, read_plan
from streamlab.lab.runner.runner import RunResult
from streamlab.reports.numbers import number_of
from streamlab.results import schema
from streamlab.results.schema import TrialRow
from streamlab.workloads.name_suggestions import suggest_names
from streamlab.workloads.registry import LEFT_OUT, names


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The directory and exit code of a run; the code is EXIT_INTERRUPTED if the run is unfinished."""

    run_dir: Path
    exit_code: int


def run(
    what: str | None,
    suite: str | None,
    demo: bool,
    real_data: Path | None,
    only: tuple[str, ...],
    dry_run: bool,
    resume: str | None,
    out: Path,
    quiet: bool,
    verbose: bool,
    report: bool,
    keep_outputs: bool,
    master: str,
    **values: Any,
) -> int:
    """Run the cells of MATRIX, a TOML file, or WORKLOAD on engines, each trial in a fresh process."""
    options = WorkloadOptions(**values)
    if suite is not None and what is not None:
        raise click.UsageError("give either WORKLOAD or --suite")
    if real_data is not None and not demo:
        raise click.UsageError("--real-data requires --demo")
    if quiet and verbose:
        raise click.UsageError("give either --quiet or --verbose")
    resumed_run = None if resume is None else find_run(resume, out)
    target = suite or what
    has_workload = suite is not None or (what is not None and is_workload(what, options))
    matrix = None if what is None or has_workload else Path(what)
    if not has_workload:
        refuse_options(options)
    if resumed_run is not None and target is None and not demo:
        plan = read_plan(resumed_run)
    else:
        if has_workload and target is not None:
            if demo:
                raise click.UsageError("give either WORKLOAD or --demo")
            arguments = run_arguments(target, options, is_suite=suite is not None)
            text, source = arguments.to_toml(), target
            if (note := arguments.describe_ignored_workers()) and not quiet:
                echo(f"lab: {note}", err=True)
        else:
            text, source = _read_matrix(matrix, demo, real_data, master)
        folder = None if matrix is None else matrix.parent.absolute()
        plan = plan_run(
            text,
            source,
            folder,
            only=only,
            keep_outputs=keep_outputs,
            requested_engines=options.engines,
        )
    if dry_run:
        check_inputs(plan.entries)
        show_cells(plan.cells)
        show_time(plan, out)
        return EXIT_OK
    verbosity = Verbosity.QUIET if quiet else Verbosity.VERBOSE if verbose else Verbosity.USUAL
    outcome = measure(
        plan,
        resume=resumed_run,
        out=out,
        master=master,
        verbosity=verbosity,
        report=report,
    )
    echo(str(outcome.run_dir))
    return outcome.exit_code


def show_cells(cells: Sequence[Cell]) -> None:
    """Print the cells that a run would execute."""
    for cell in cells:
        trials = f"x{cell.repetitions}" if cell.search is None else "search"
        query = "".join(f"  {name}={value}" for name, value in cell.query.items())
        echo(f"{cell.id}  {'unsupported' if cell.refusal else trials}{query}")
    echo(f"{number_of(len(cells), 'cell')}, {_count_trials(cells)}", err=True)


def show_time(plan: RunPlan, out: Path) -> None:
    """Print the estimated time of a run, and the parts without an estimate."""
    time_estimate = estimate(plan.cells, plan.matrix.settings, out)
    count = len(plan.cells) - len(time_estimate.unknown)
    text = f"about {time_text(time_estimate.seconds)}" if count else "time: unknown"
    if count:
        text += (
            f" for the trials of {number_of(count, 'cell')}, from {time_estimate.source} on this"
        )
        text += " machine"
    for note in time_estimate.notes:
        text += f"; {note}"
    echo(text, err=True)


def _count_trials(cells: Sequence[Cell]) -> str:
    count = sum(cell.repetitions for cell in cells if cell.search is None)
    searches = sum(cell.search is not None for cell in cells)
    text = number_of(count, "trial")
    return f"{text} and {number_of(searches, 'search', 'searches')}" if searches else text


def measure(
    plan: RunPlan,
    *,
    resume: Path | None,
    out: Path,
    master: str = "local[*]",
    verbosity: Verbosity = Verbosity.USUAL,
    report: bool = False,
) -> RunOutcome:
    """Find or make the datasets, run all cells, and print the results.

    With `report`, also write the page, after each part of the run and at the run's end.
    Arguments and errors are as in `streamlab.lab.runner.execution.execute`.
    """
    check_folder(resume or out, "the run")
    began = time.monotonic()
    run_dir, result = execute(
        plan,
        resume=resume,
        out=out,
        master=master,
        audience=Terminal(verbosity, _write_page if report else None),
    )
    if verbosity is not Verbosity.QUIET:
        print_results(result.rows, result.searches)
        echo(f"{number_of(len(result.rows), 'trial')}, {time.monotonic() - began:.1f} s")
    if result.interrupted:
        echo(f"lab: interrupted; resume with: lab run --resume {run_dir}", err=True)
    if report and not result.interrupted:
        echo(_write_page(run_dir))
    refusals = {} if result.interrupted else refused_engines(plan.requested_engines, result.rows)
    for name, reason in refusals.items():
        echo(f"lab: no cell of engine {name} ran: {reason}", err=True)
    code = _exit_code(result)
    return RunOutcome(
        run_dir=run_dir, exit_code=EXIT_ENGINE_FAILURE if refusals and code == EXIT_OK else code
    )


def refused_engines(requested: Sequence[str], rows: Sequence[TrialRow]) -> dict[str, str]:
    """Return the requested engines whose cells are all unsupported, each with its first reason."""
    refusals = {}
    for name in requested:
        engine, _, variant = name.partition("/")
        engine_rows = [row for row in rows if row.engine == engine and variant in ("", row.variant)]
        if engine_rows and all(row.status == schema.UNSUPPORTED for row in engine_rows):
            refusals[name] = engine_rows[0].reason or "no reason"
    return refusals


def _write_page(run_dir: Path) -> Path:
    return write_pages([run_dir])


def _exit_code(result: RunResult) -> int:
    """Return the exit code of a run.

    A search tries rates that overload engines, so a failed trial of a search is not a failure. A
    search that finds no rate is a failure, unless the engine refused the cell.
    """
    if result.interrupted:
        return EXIT_INTERRUPTED
    failures = {schema.CRASH, schema.OOM, schema.TIMEOUT, schema.INVALID}
    if any(row.status == schema.WRONG_OUTPUT for row in result.rows):
        return EXIT_WRONG_OUTPUT
    refused_cells = {row.cell for row in result.rows if row.status == schema.UNSUPPORTED}
    fruitless = [
        cell
        for cell, state in result.searches.items()
        if state.bracket.r_pass_eps is None and cell not in refused_cells
    ]
    if fruitless or any(row.status in failures and not row.probe for row in result.rows):
        return EXIT_ENGINE_FAILURE
    return EXIT_OK


def _read_matrix(
    matrix: Path | None, demo: bool, real_data: Path | None, master: str
) -> tuple[str, str]:
    if demo and matrix is not None:
        raise click.UsageError("give either MATRIX or --demo")
    if demo:
        path = Path(streamlab.lab.__file__).parent / "demo.toml"
        text = path.read_text(encoding="utf-8")
        return text + ("" if real_data is None else _real_workloads(real_data, master)), "demo.toml"
    if matrix is None:
        raise click.UsageError("give a MATRIX file, a WORKLOAD, --demo, or --resume RUN_DIR")
    if not matrix.exists() and matrix.name == str(matrix) and matrix.suffix != ".toml":
        suggestion = suggest_names(str(matrix), names(), "lab list workloads")
        remedy = LEFT_OUT.get(str(matrix), suggestion)
        raise click.UsageError(f"{str(matrix)!r} is neither a matrix file nor a workload; {remedy}")
    return read_text(matrix, "the matrix"), str(matrix)


def _real_workloads(folder: Path, master: str) -> str:
    """Return the matrix tables for the real input in a folder, after importing the input if needed."""
    inputs = find_real_input(folder)
    if not inputs:
        files = ", ".join(real.file for real in REAL_INPUTS)
        raise click.UsageError(f"--real-data {folder} has none of {files}")
    tables = ""
    for source in inputs:
        with announce(f"import of {source.file}") as progress:
            dataset = import_real_input(source, folder, master=master, progress=progress)
        tables += as_tables(source, dataset)
    return tables
