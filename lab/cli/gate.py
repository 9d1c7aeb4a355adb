"""`lab gate`: fails on a confirmed regression, for CI."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamlab.lab.cli import EXIT_GATE, EXIT_INCONCLUSIVE, EXIT_OK
from streamlab.lab.cli.completion import RUNS
from streamlab.lab.cli.paths import AbsolutePath
from streamlab.lab.cli.stored_runs import find_run, runs_option
from streamlab.lab.gate.errors import GateError

if TYPE_CHECKING:
    from streamlab.lab.gate.accepted_list import Acceptance
    from streamlab.lab.gate.decision import GateCriteria
    from streamlab.lab.gate.outcome import GateReport

METRICS = ("wall", "cpu", "p50", "p99", "rss", "energy", "instructions")
BASELINES = Path("results/baselines")
COUNTS = BASELINES / "instructions.json"


@click.command()
@click.argument("matrix", required=False, type=AbsolutePath())
@click.option("--against", metavar="REV", help="Build this revision and measure both in turn.")
@click.option(
    "--repo",
    metavar="DIR",
    type=AbsolutePath(exists=True, file_okay=False),
    help="With --against: gate the repository in this folder, not the lab's own source.",
)
@click.option(
    "--build",
    metavar="COMMAND",
    help="With --repo: builds a revision, e.g. 'pip install --no-deps --target {site} .'; {source} "
    "is its folder, in which the command runs. Default: pure Python, nothing to build.",
)
@click.option(
    "--build-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=1),
    default=1800,
    show_default=True,
    help="With --build: end the command after so long.",
)
@click.option(
    "--baseline",
    **RUNS,
    multiple=True,
    help="A stored run (path or name), a file of counts, or files of pytest-benchmark (globs).",
)
@click.option(
    "--run", "run_name", metavar="RUN", help="With --baseline: gate this stored run.", **RUNS
)
@click.option("--instructions", type=AbsolutePath(), help="Gate this file of counts.")
@click.option("--pytest-benchmark", "benchmarks", multiple=True, help="Gate these files (globs).")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    type=click.Choice(METRICS),
    help="What to gate; may be repeated. Default: wall and cpu, and rss and p99 where they repeat.",
)
@click.option(
    "--advisory",
    multiple=True,
    type=click.Choice(METRICS),
    help="Show this metric and never fail on it; may be repeated.",
)
@click.option("--only", multiple=True, help="Gate only cells whose id matches; may be repeated.")
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Fresh processes per arm, cell and stage; at least 4.",
)
@click.option("--accept", type=AbsolutePath(), help="List of accepted regressions.")
@click.option("--junit", type=AbsolutePath(), help="Write JUnit XML here.")
@click.option("--json", type=AbsolutePath(), help="Write JSON here.")
@click.option("--page", type=AbsolutePath(), help="Write an HTML page here.")
@click.option("--markdown", type=AbsolutePath(), help="Append a Markdown summary here.")
@click.option(
    "--allow-inconclusive", is_flag=True, help="End with 0, not 6, when nothing could be told."
)
@click.option(
    "--plant",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="PERCENT",
    help="With --against: add busy work to the new arm, to see the gate fail.",
)
@click.option("--self-test", is_flag=True, help="Measure the gate's own false alarms and power.")
@click.option("--rounds", type=click.IntRange(min=1), default=20, show_default=True)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0.1),
    default=15.0,
    show_default=True,
    help="With --self-test: begin no round after this time.",
)
@runs_option("--out", about="Where runs are made and looked for by name")
@click.option("--master", default="local[*]", show_default=True, help="Spark master for datasets.")
def gate(**given: Any) -> int:
    """Compare the working tree, or a run, with something older; fail on a confirmed regression.

    \b
    lab gate --against REV MATRIX            build REV, measure both in turn (preferred)
    lab gate --repo DIR --build COMMAND --against REV MATRIX      the same for your own repository
    lab gate --baseline RUN MATRIX           measure MATRIX now, compare with a stored run
    lab gate --baseline RUN --run RUN        compare two stored runs, in one stage
    lab gate --instructions FILE             compare counts with results/baselines
    lab gate --against REV --metric instructions    count both now; with --repo, cells
    lab gate --pytest-benchmark NEW --baseline OLD
    lab gate --self-test

    A cell that was verified and is not any more always fails. Exit codes: 0 passed, 2 the gate
    could not be held, 3 an engine failed, 5 a regression or a wrong answer, 6 inconclusive (cells
    that are unstable, or have too few processes or no number), 130 interrupted.
    """  # noqa: D301 - the backslash is click's mark for text that is not wrapped
    if given["self_test"]:
        from streamlab.lab.gate.self_test import run_self_test

        lines = run_self_test(
            rounds=given["rounds"],
            minutes=given["minutes"],
            repetitions=given["repetitions"],
            master=given["master"],
            say=_say,
        )
        for line in lines:
            click.echo(line)
        return EXIT_OK
    from streamlab.lab.cli.write_errors import check_file, writing
    from streamlab.lab.gate.accepted_list import apply_accepted, read_accepted
    from streamlab.lab.gate.advice import advice
    from streamlab.lab.gate.outcome import Headline, legible
    from streamlab.lab.gate.page import write_page
    from streamlab.lab.gate.render import as_text, write_json, write_junit, write_markdown

    # All files that are given, before anything is measured for them.
    accepted = () if given["accept"] is None else read_accepted(given["accept"])
    writers = {
        "json": write_json,
        "junit": write_junit,
        "markdown": write_markdown,
        "page": write_page,
    }
    files = [(name, given[name]) for name in writers if given[name] is not None]
    for name, path in files:
        check_file(path, f"--{name}")
    report = apply_accepted(_held(given, accepted), accepted, datetime.now(UTC).date())
    stored = not given["matrix"] or bool(given["run_name"])
    report = legible(replace(report, notes=(*advice(report, one_stage=stored), *report.notes)))
    click.echo(as_text(report))
    for name, path in files:
        with writing(f"--{name}", path):
            writers[name](report, path)
    if report.headline is Headline.INCONCLUSIVE and not given["allow_inconclusive"]:
        return EXIT_INCONCLUSIVE
    return EXIT_GATE if report.failed else EXIT_OK


def _held(given: dict[str, Any], accepted: Sequence["Acceptance"]) -> "GateReport":
    """Hold the gate that the options ask for."""
    forms = [name for name in ("against", "instructions", "benchmarks") if given[name]]
    if len(forms) > 1:
        named = " and ".join(f"--{name}".replace("--b", "--pytest-b") for name in forms)
        raise click.UsageError(f"{named} are different gates; give one")
    for name, wanted in (("repo", "against"), ("build", "repo")):
        if given[name] is not None and not given[wanted]:
            raise click.UsageError(f"--{name} is for --{wanted}; give both")
    if given["against"]:
        if given["baseline"] or given["run_name"]:
            raise click.UsageError("--against measures both sides; leave out --baseline and --run")
        return _against(given, accepted)
    if given["instructions"]:
        return _instructions(given)
    if given["benchmarks"]:
        return _benchmarks(given)
    if not given["baseline"]:
        raise click.UsageError("give --against REV MATRIX, --baseline RUN, or see --help")
    return _stored(given, accepted)


def _criteria(given: dict[str, Any], *, one_stage: bool = False) -> "GateCriteria":
    from streamlab.lab.gate.decision import GateCriteria
    from streamlab.lab.gate.metrics import GATED, WHERE_REPEATED
    from streamlab.lab.gate.metrics import METRICS as KNOWN
    from streamlab.results.stats.decision import ONE_STAGE, TWO_STAGE, values_needed

    fewest = values_needed(1, TWO_STAGE)
    if not one_stage and given["repetitions"] < fewest:
        raise click.UsageError(
            f"--repetitions {given['repetitions']}: no order of so few processes could be called a "
            f"regression; give {fewest} or more a side for one cell, more for more cells"
        )
    chosen = given["metrics"] or (*GATED, *WHERE_REPEATED)
    names = dict.fromkeys((*chosen, *given["advisory"]))
    if "instructions" in names:
        raise click.UsageError(
            "instructions are counted apart from times: give --metric instructions alone; of the "
            "lab's own source they are those of its micro-benchmarks, with --repo those of cells"
        )
    rule = ONE_STAGE if one_stage else replace(TWO_STAGE, n=given["repetitions"])
    return GateCriteria(
        metrics=[KNOWN[name] for name in names],
        advisory=frozenset(given["advisory"]),
        where_repeated=frozenset(() if given["metrics"] else WHERE_REPEATED),
        rule=rule,
    )


def _against(given: dict[str, Any], accepted: Sequence["Acceptance"]) -> "GateReport":
    from streamlab.lab.gate.against import against, instructions_against
    from streamlab.lab.gate.source import checkout, resolve, working_tree

    if given["repo"] is not None:
        return _repository(given)
    root = checkout()
    revisions = (resolve(root, given["against"]), working_tree(root))
    if given["metrics"] == ("instructions",) and not given["advisory"]:
        return instructions_against(root, revisions, _say)
    criteria = _criteria(given)
    _, _, cells = _matrix(given, accepted)
    return against(
        root,
        revisions,
        cells,
        criteria,
        plant=given["plant"] / 100,
        master=given["master"],
        logs=_new_logs(),
        say=_say,
    )


def _repository(given: dict[str, Any]) -> "GateReport":
    from streamlab.lab.gate.against_repository import Subject, against_repository
    from streamlab.lab.gate.arm_inspection import PlanRequest
    from streamlab.lab.gate.repository import Recipe, repository
    from streamlab.lab.gate.source import resolve, working_tree

    counts = given["metrics"] == ("instructions",) and not given["advisory"]
    if counts and given["plant"]:
        raise click.UsageError("--plant adds time and no instructions: gate cpu with it")
    criteria = None if counts else _criteria(given)
    if given["matrix"] is None:
        raise click.UsageError("give a MATRIX, whose cells are run")
    root = repository(given["repo"])
    subject = Subject(
        root=root,
        revisions=(resolve(root, given["against"]), working_tree(root)),
        recipe=Recipe(command=given["build"], timeout_s=given["build_timeout"]),
    )
    matrix = PlanRequest(
        matrix=given["matrix"].absolute(), only=given["only"], master=given["master"]
    )
    plant = given["plant"] / 100
    return against_repository(subject, matrix, criteria, plant=plant, logs=_new_logs(), say=_say)


def _new_logs() -> Path:
    return Path(tempfile.mkdtemp(prefix="lab-gate-logs-"))


def _stored(given: dict[str, Any], accepted: Sequence["Acceptance"]) -> "GateReport":
    from streamlab.lab.gate.advice import checks
    from streamlab.lab.gate.against import in_words
    from streamlab.lab.gate.decision import hold
    from streamlab.lab.gate.outcome import GateReport
    from streamlab.lab.gate.stored_baseline import (
        check_baseline,
        fresh_run,
        machine_notes,
        pair_runs,
        planted_notes,
    )
    from streamlab.lab.gate.trials import check_cells
    from streamlab.results.store import read_run

    if len(given["baseline"]) > 1:
        raise click.UsageError("one --baseline RUN, please")
    old = read_run(find_run(given["baseline"][0], BASELINES, given["out"]))
    note = f"measured in another job than {old.path.name}: what differs between jobs counts, too"
    if given["run_name"]:
        criteria = _criteria(given, one_stage=True)
        new = read_run(find_run(given["run_name"], given["out"], BASELINES))
        pairs = pair_runs(old, new)
        lines = hold(pairs, None, criteria)
    else:
        criteria = _criteria(given)
        matrix, text, cells = _matrix(given, accepted)
        check_cells(cells)
        check_baseline(old, cells)

        def measured(names: Sequence[str]) -> Any:
            wanted = [cell for cell in cells if cell.id in set(names)]
            n, root = given["repetitions"], given["out"]
            run = fresh_run(matrix, text, wanted, n, root=root, master=given["master"], say=_say)
            found = pair_runs(old, run)
            return run, {cell.id: found[cell.id] for cell in wanted if cell.id in found}

        new, pairs = measured([cell.id for cell in cells])
        lines = hold(pairs, lambda names: measured(names)[1], criteria)
    return GateReport(
        old=str(old.path),
        new=str(new.path),
        rule=in_words(criteria.rule, two_stages=not given["run_name"]),
        lines=lines,
        notes=(note, *machine_notes(old, new), *checks(pairs), *planted_notes(old, new)),
    )


def _instructions(given: dict[str, Any]) -> "GateReport":
    from streamlab.lab.gate.instructions import read_counts, report_counts

    if len(given["baseline"]) > 1:
        raise click.UsageError("one --baseline FILE, please")
    baseline = Path(given["baseline"][0]) if given["baseline"] else COUNTS
    names = (str(baseline), str(given["instructions"]))
    return report_counts(read_counts(baseline), read_counts(given["instructions"]), names=names)


def _benchmarks(given: dict[str, Any]) -> "GateReport":
    from streamlab.lab.gate.against import in_words
    from streamlab.lab.gate.decision import GateCriteria, hold
    from streamlab.lab.gate.outcome import GateReport
    from streamlab.lab.gate.pytest_benchmark import METRIC, read_sides
    from streamlab.results.stats.decision import ONE_STAGE

    old, new = _files(given["baseline"], "--baseline"), _files(given["benchmarks"], "NEW")
    criteria = GateCriteria(metrics=[METRIC], advisory=frozenset(), rule=ONE_STAGE)
    return GateReport(
        old=f"{len(old)} files",
        new=f"{len(new)} files",
        rule=in_words(ONE_STAGE, two_stages=False),
        lines=hold(read_sides(old, new), None, criteria),
        notes=("a file is one process: run pytest several times, a file each",),
    )


def _files(patterns: Sequence[str], what: str) -> list[Path]:
    """Return the files that the patterns match, each once."""
    found = {
        Path(name): None
        for pattern in patterns
        for name in sorted(glob(pattern))  # noqa: PTH207 - patterns may be absolute
    }
    if not found:
        raise GateError(f"{what}: no file matches {', '.join(patterns) or 'nothing'}")
    return list(found)


def _matrix(
    given: dict[str, Any], accepted: Sequence["Acceptance"]
) -> tuple[Any, str, tuple[Any, ...]]:
    """Return the matrix, its text and the cells that are asked for."""
    if given["matrix"] is None:
        raise click.UsageError("give a MATRIX, whose cells are run")
    from streamlab.lab.gate.accepted_list import check_accepted
    from streamlab.lab.matrix.cells import expand
    from streamlab.lab.matrix.matrix import parse_matrix
    from streamlab.lab.matrix.toml_table import read_text
    from streamlab.lab.runner.datasets import check_entries

    text = read_text(given["matrix"], "the matrix")
    matrix = parse_matrix(text, str(given["matrix"]), given["matrix"].parent)
    check_entries(matrix)
    check_accepted(accepted, [cell.id for cell in expand(matrix)])
    return matrix, text, expand(matrix, given["only"])


def _say(words: str) -> None:
    click.echo(words, err=True)
