"""Implements `lab gate`."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

import click

from streamlab.lab.cli import EXIT_GATE, EXIT_INCONCLUSIVE, EXIT_OK
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.write_errors import check_file, writing
from streamlab.lab.errors import GateError
from streamlab.lab.gate.accepted_list import (
    Acceptance,
    apply_accepted,
    check_accepted,
    read_accepted,
)
from streamlab.lab.gate.arm_inspection import make_plan
from streamlab.lab.gate.comparison import (
    Subject,
    describe_rule,
    gate_instructions,
    gate_repository,
    gate_revisions,
)
from streamlab.lab.gate.decision import GateCriteria, decide_gate
from streamlab.lab.gate.instructions import read_counts, report_counts
from streamlab.lab.gate.metrics import DEFAULT_METRICS, IF_REPEATABLE, METRICS, Metric
from streamlab.lab.gate.outcome import GateReport, Headline, make_encodable
from streamlab.lab.gate.render import FORMS, as_text, write_report
from streamlab.lab.gate.report_notes import doubt_notes, reference_notes
from streamlab.lab.gate.repository import Recipe, find_repository
from streamlab.lab.gate.self_test import run_self_test
from streamlab.lab.gate.source import commit_working_tree, find_checkout, resolve
from streamlab.lab.gate.stored_baseline import (
    check_baseline,
    machine_notes,
    measure_run,
    pair_runs,
)
from streamlab.lab.gate.trials import check_cells
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.toml_table import read_text
from streamlab.lab.runner.run_directory import now
from streamlab.lab.runner.run_plan import RunPlan, plan_run
from streamlab.results import schema
from streamlab.results.exchange.external_run import read_external_run
from streamlab.results.exchange.pytest_benchmark_file import TOOL
from streamlab.results.stats.decision import ONE_STAGE, TWO_STAGE, values_needed
from streamlab.results.store import Run, read_run

BASELINES = Path("results/baselines")

COUNTS = BASELINES / "instructions.json"
"""Default baseline of instruction counts."""

MEDIAN = Metric(name="median", about="median seconds of a round", column="duration_s")
"""The metric of pytest-benchmark's files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """The command's options, named and documented as in `streamlab.lab.cli.measure`."""

    matrix: Path | None
    against: str | None
    repo: Path | None
    build: str | None
    build_timeout: float
    baseline: tuple[str, ...]
    run_name: str | None
    instructions: Path | None
    benchmarks: tuple[str, ...]
    metrics: tuple[str, ...]
    advisory: tuple[str, ...]
    only: tuple[str, ...]
    repetitions: int
    allow_inconclusive: bool
    accept: Path | None
    junit: Path | None
    json: Path | None
    markdown: Path | None
    plant: float
    self_test: bool
    rounds: int
    minutes: float
    out: Path
    master: str


def gate(**values: Any) -> int:
    """Compare the working tree, or a run, with an older one; fail on a confirmed regression."""
    options = GateOptions(**values)
    if options.self_test:
        lines = run_self_test(
            rounds=options.rounds,
            minutes=options.minutes,
            repetitions=options.repetitions,
            master=options.master,
            say=_say,
        )
        for line in lines:
            echo(line)
        return EXIT_OK
    # Check all files before measuring.
    accepted = () if options.accept is None else read_accepted(options.accept)
    files = [(name, getattr(options, name)) for name in FORMS if getattr(options, name) is not None]
    for name, path in files:
        check_file(path, f"--{name}")
    report = apply_accepted(_run_gate(options, accepted), accepted, datetime.now(UTC).date())
    is_stored = not options.matrix or bool(options.run_name)
    report = make_encodable(
        replace(report, notes=(*doubt_notes(report, one_stage=is_stored), *report.notes))
    )
    echo(as_text(report))
    for name, path in files:
        with writing(f"--{name}", path):
            write_report(report, name, path)
    if report.headline is Headline.INCONCLUSIVE and not options.allow_inconclusive:
        return EXIT_INCONCLUSIVE
    return EXIT_GATE if report.failed else EXIT_OK


def _run_gate(options: GateOptions, accepted: Sequence[Acceptance]) -> GateReport:
    """Run the gate that the options select, and return its report."""
    gates = [name for name in ("against", "instructions", "benchmarks") if getattr(options, name)]
    if len(gates) > 1:
        flags = " and ".join(f"--{name}".replace("--b", "--pytest-b") for name in gates)
        raise click.UsageError(f"{flags} select different gates; give one of them")
    for name, required_option in (("repo", "against"), ("build", "repo")):
        if getattr(options, name) is not None and not getattr(options, required_option):
            raise click.UsageError(f"--{name} requires --{required_option}; give both")
    if options.against:
        if options.baseline or options.run_name:
            raise click.UsageError("--against measures both sides; omit --baseline and --run")
        return _gate_against(options, accepted)
    if options.instructions:
        return _gate_counts(options)
    if options.benchmarks:
        return _gate_benchmarks(options)
    if not options.baseline:
        raise click.UsageError("give --against REV MATRIX, --baseline RUN, or see --help")
    return _gate_stored_run(options, accepted)


def _criteria(
    options: GateOptions, *, one_stage: bool = False, default: Sequence[str] = DEFAULT_METRICS
) -> GateCriteria:
    """Return the metrics and the rule that the options select; refuse options that cannot give a verdict."""
    fewest = values_needed(1, TWO_STAGE)
    if not one_stage and options.repetitions < fewest:
        raise click.UsageError(
            f"--repetitions {options.repetitions}: too few to confirm a regression; use {fewest} "
            "or more per arm for one cell, and more for more cells"
        )
    chosen = options.metrics or (*default, *IF_REPEATABLE)
    names = dict.fromkeys((*chosen, *options.advisory))
    if "instructions" in names:
        raise click.UsageError(
            "instructions are not counted together with times: give --metric instructions alone; it "
            "counts the lab's micro-benchmarks, or with --repo the cells"
        )
    rule = ONE_STAGE if one_stage else replace(TWO_STAGE, n=options.repetitions)
    return GateCriteria(
        metrics=[METRICS[name] for name in names],
        advisory=frozenset(options.advisory),
        if_repeatable=frozenset(() if options.metrics else IF_REPEATABLE),
        rule=rule,
    )


def _gate_against(options: GateOptions, accepted: Sequence[Acceptance]) -> GateReport:
    """Compare the working tree with a revision, in this lab's checkout or in another repository."""
    if options.repo is not None:
        return _gate_repository(options)
    assert options.against is not None, "`_run_gate` calls this for --against only"
    root = find_checkout()
    revisions = (resolve(root, options.against), commit_working_tree(root))
    if options.metrics == ("instructions",) and not options.advisory:
        return gate_instructions(root, revisions, _say)
    criteria = _criteria(options)
    cells = _plan(options, accepted).cells
    return gate_revisions(
        root,
        revisions,
        cells,
        criteria,
        plant=options.plant / 100,
        master=options.master,
        logs=_new_logs(),
        say=_say,
    )


def _gate_repository(options: GateOptions) -> GateReport:
    counts_instructions = options.metrics == ("instructions",) and not options.advisory
    if counts_instructions and options.plant:
        raise click.UsageError("--plant adds time, not instructions; use it with --metric cpu")
    criteria = None if counts_instructions else _criteria(options)
    if options.matrix is None:
        raise click.UsageError("give a MATRIX with the cells to run")
    assert options.repo is not None and options.against is not None, "`_run_gate` checks --repo"
    root = find_repository(options.repo)
    subject = Subject(
        root=root,
        revisions=(resolve(root, options.against), commit_working_tree(root)),
        recipe=Recipe(command=options.build, timeout_s=options.build_timeout),
    )
    plan = partial(
        make_plan,
        matrix=options.matrix.absolute(),
        only=options.only,
        master=options.master,
    )
    plant = options.plant / 100
    return gate_repository(subject, plan, criteria, plant=plant, logs=_new_logs(), say=_say)


def _new_logs() -> Path:
    return Path(tempfile.mkdtemp(prefix="lab-gate-logs-"))


def _gate_stored_run(options: GateOptions, accepted: Sequence[Acceptance]) -> GateReport:
    """Compare a stored run, or a new run of the matrix, with a stored baseline."""
    if len(options.baseline) > 1:
        raise click.UsageError("give one --baseline RUN only")
    old = read_run(find_run(options.baseline[0], BASELINES, options.out))
    note = f"{old.path.name} was measured in another job; differences between jobs count, too"
    if options.run_name:
        new = read_run(find_run(options.run_name, options.out, BASELINES))
        criteria = _criteria(options, one_stage=True, default=_measured_metrics(old, new))
        pairs = pair_runs(old, new)
        lines = decide_gate(pairs, None, criteria)
    else:
        criteria = _criteria(options)
        plan = _plan(options, accepted)
        check_cells(plan.cells)
        check_baseline(old, plan.cells)

        def measure(names: Sequence[str]) -> Any:
            cells = [cell for cell in plan.cells if cell.id in set(names)]
            n, root = options.repetitions, options.out
            run = measure_run(plan, cells, n, root=root, master=options.master, say=_say)
            by_cell = pair_runs(old, run)
            return run, {cell.id: by_cell[cell.id] for cell in cells if cell.id in by_cell}

        new, pairs = measure([cell.id for cell in plan.cells])
        lines = decide_gate(pairs, lambda names: measure(names)[1], criteria)
    return GateReport(
        old=str(old.path),
        new=str(new.path),
        rule=describe_rule(criteria.rule, two_stages=not options.run_name),
        lines=lines,
        notes=(note, *machine_notes(old, new), *reference_notes(pairs)),
    )


def _measured_metrics(*runs: Run) -> Sequence[str]:
    """Return the metrics to gate by default; for imported runs, the metrics in the imported files."""
    if all(run.meta.imported is None for run in runs):
        return DEFAULT_METRICS
    rows = [row for run in runs for row in run.rows if row.status in schema.MEASURED]
    return [
        name
        for name in DEFAULT_METRICS
        if all(getattr(row, METRICS[name].column) is not None for row in rows)
    ]


def _gate_counts(options: GateOptions) -> GateReport:
    if len(options.baseline) > 1:
        raise click.UsageError("give one --baseline FILE only")
    assert options.instructions is not None, "`_run_gate` calls this for --instructions only"
    baseline = Path(options.baseline[0]) if options.baseline else COUNTS
    names = (str(baseline), str(options.instructions))
    return report_counts(read_counts(baseline), read_counts(options.instructions), names=names)


def _gate_benchmarks(options: GateOptions) -> GateReport:
    """Gate pytest-benchmark's files as if `lab import-run` had imported them as runs.

    Each file counts as one process, because rounds within a process are not independent. Counting rounds
    as processes would give a false alarm in one of four comparisons (docs/gates.md).
    """
    sides = _match_files(options.baseline, "--baseline"), _match_files(options.benchmarks, "NEW")
    if common_files := set(sides[0]) & set(sides[1]):
        raise GateError(f"{min(common_files)}: this file is on both sides; use narrower patterns")
    old, new = map(_external_run, sides)
    criteria = GateCriteria(metrics=[MEDIAN], advisory=frozenset(), rule=ONE_STAGE)
    return GateReport(
        old=str(old.path),
        new=str(new.path),
        rule=describe_rule(ONE_STAGE, two_stages=False),
        lines=decide_gate(pair_runs(old, new), None, criteria),
        notes=("each file is one process: run pytest several times, with one file each",),
    )


def _external_run(files: Sequence[Path]) -> Run:
    run = read_external_run(files, now=now(), name=None)
    if (tool := run.rows[0].engine) != TOOL:
        raise GateError(
            f"{files[0]}: output of {tool}, not of pytest --benchmark-json; store both sides with "
            "`lab import-run`, and gate these runs: lab gate --baseline RUN --run RUN"
        )
    if "cpu_model" not in run.meta.host:
        raise GateError(
            f"{files[0]}: the processor, which identifies the machine, is missing; do not replace "
            "pytest-benchmark's machine_info in a hook"
        )
    return Run(path=Path(f"{len(files)} files"), meta=run.meta, rows=run.rows)


def _match_files(patterns: Sequence[str], side: str) -> list[Path]:
    """Return the files that match the patterns, each once, without links."""
    files = {
        Path(name).resolve(): None
        for pattern in patterns
        for name in sorted(glob(pattern))  # noqa: PTH207 - patterns may be absolute
    }
    if not files:
        raise GateError(f"{side}: no file matches {', '.join(patterns) or 'nothing'}")
    return list(files)


def _plan(options: GateOptions, accepted: Sequence[Acceptance]) -> RunPlan:
    """Return the cells to measure, after checking the accepted regressions."""
    path = options.matrix
    if path is None:
        raise click.UsageError("give a MATRIX with the cells to run")
    plan = plan_run(read_text(path, "the matrix"), str(path), path.parent, only=options.only)
    check_accepted(accepted, [cell.id for cell in expand(plan.matrix)])
    return plan


def _say(words: str) -> None:
    echo(words, err=True)
