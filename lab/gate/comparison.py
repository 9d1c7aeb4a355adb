"""Compares two revisions of the lab or of another repository: builds both alike and measures them in turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.arm_inspection import Code, Plan, inspect_arm, locate_code
from streamlab.lab.gate.build import Say, build_arm, compiler_version, lock_revision, source_tree
from streamlab.lab.gate.cell_instructions import check_valgrind, count_arms
from streamlab.lab.gate.code_location import check_arm, check_built_packages
from streamlab.lab.gate.decision import GateCriteria, decide_gate
from streamlab.lab.gate.installed_code import check_different, check_installed
from streamlab.lab.gate.instructions import count_tree, report_counts
from streamlab.lab.gate.metrics import METRICS, Pair
from streamlab.lab.gate.missing_files import find_gaps
from streamlab.lab.gate.outcome import GateReport, Line, Verdict
from streamlab.lab.gate.projects import find_projects
from streamlab.lab.gate.report_notes import describe_outputs, reference_notes
from streamlab.lab.gate.repository import Recipe, build_arms
from streamlab.lab.gate.source import Revision
from streamlab.lab.gate.trials import (
    Bench,
    Work,
    check_cells,
    find_inputs,
    is_measurable,
    make_works,
    measure,
    warm_up,
)
from streamlab.lab.host.git import git
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.measure.energy.choose import choose
from streamlab.results.stats.decision import Rule


def gate_revisions(
    checkout: Path,
    revisions: tuple[Revision, Revision],
    cells: Sequence[Cell],
    criteria: GateCriteria,
    *,
    plant: float,
    master: str,
    logs: Path,
    say: Say,
) -> GateReport:
    """Measure cells in two revisions of this lab and return the report.

    `plant` is the share of busy work to add to the new arm, to test the gate.

    Raises:
        GateError: a revision does not build, or a cell cannot be gated.
    """
    check_cells(cells)
    check_built_packages(cells)
    compiler_version()  # raises without a compiler, before inputs are made
    datasets = find_inputs(cells, master=master, say=say)
    old, new = (
        build_arm(checkout, revision, name, say)
        for revision, name in zip(revisions, ("old", "new"), strict=True)
    )
    bench = _make_bench(make_works(cells, datasets), criteria, plant=plant, logs=logs)
    report = gate_arms(bench, old, new, criteria, say)
    notes = revision_notes(checkout, revisions, plant=plant, logs=logs)
    return replace(report, notes=(*report.notes, *notes))


def _make_bench(
    works: Mapping[str, Work], criteria: GateCriteria | None, *, plant: float, logs: Path
) -> Bench:
    gates_energy = criteria is not None and METRICS["energy"] in criteria.metrics
    return Bench(
        works=works,
        logs=logs,
        planted={"new": {"planted_slowdown": plant}} if plant else {},
        energy=choose().name if gates_energy else "none",
    )


def revision_notes(
    checkout: Path, revisions: tuple[Revision, Revision], *, plant: float, logs: Path
) -> list[str]:
    """Return notes on the revisions, planted work and logs."""
    new = revisions[1]
    trees = {git(checkout, "rev-parse", f"{revision.commit}^{{tree}}") for revision in revisions}
    notes = []
    if len(trees) == 1:
        notes.append("both revisions have the same files, so differences are noise or planted work")
    if plant:
        notes.append(f"{plant:.0%} of busy work was planted in the new arm")
    notes += new.left_out
    if new.changed:
        notes.append(
            "the gate measures commits: it made one of the working tree's changes, "
            f"{new.commit[:12]}, without the files that git ignores"
        )
    return [*notes, f"logs: {logs}"]


def gate_arms(bench: Bench, old: Arm, new: Arm, criteria: GateCriteria, say: Say) -> GateReport:
    """Measure a bench's cells in two built arms and return the report."""
    for arm in (old, new):
        bench.make_oracles(arm, say)
    first: dict[str, Pair] = warm_up(bench, old, new, say)
    sound = [cell for cell, pair in first.items() if is_measurable(pair)]
    outputs = tuple(describe_outputs({cell: first[cell] for cell in sound}, criteria.metrics))
    for words in outputs:
        say(words)
    first |= measure(bench, old, new, sound, criteria.rule.n, say)

    def measure_again(suspects: Sequence[str]) -> Mapping[str, Pair]:
        say(f"second stage: {', '.join(suspects)}")
        return measure(bench, old, new, suspects, criteria.rule.n, say)

    return GateReport(
        old=old.revision,
        new=new.revision,
        rule=describe_rule(
            criteria.rule, two_stages=True, paired=any(map(bench.is_loaded, bench.works))
        ),
        lines=decide_gate(first, measure_again, criteria),
        notes=(*reference_notes(first), *outputs),
    )


def gate_instructions(checkout: Path, revisions: tuple[Revision, Revision], say: Say) -> GateReport:
    """Count the instructions of both revisions and return the report."""
    counts = []
    for revision in revisions:
        with lock_revision(checkout, revision):
            tree = source_tree(checkout, revision)
        say(f"counting the instructions of {revision.label}")
        counts.append(count_tree(checkout, tree, tree.parent / "instructions.json"))
    names = (revisions[0].label, revisions[1].label)
    return report_counts(counts[0], counts[1], names=names)


def describe_rule(rule: Rule, *, two_stages: bool, paired: bool = False) -> str:
    """Return a rule as text for the output."""
    pairs = " (latency under a load: signed-rank test of pairs)" if paired else ""
    stages = "two stages" if two_stages else "one stage"
    return (
        f"{stages}; exact one-sided Mann-Whitney{pairs}, p < {rule.alpha:g}, "
        f"Benjamini-Hochberg q = {rule.q:g} over cells, effect > max({rule.floor:.0%}, "
        f"{rule.noise_factor:g} x A/A MAD)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The repository to gate."""

    root: Path
    revisions: tuple[Revision, Revision]
    recipe: Recipe


def gate_repository(
    subject: Subject,
    make_plan: Callable[[], Plan],
    criteria: GateCriteria | None,
    *,
    plant: float,
    logs: Path,
    say: Say,
) -> GateReport:
    """Measure cells in two revisions of a repository and return the report.

    A cell that only the new revision has is reported, but not measured. If `criteria` is None, the
    gate counts instructions.

    Raises:
        GateError: a revision does not build, a cell cannot be gated, or its code does not come
            from the build.
    """
    if criteria is None:
        check_valgrind()
    with build_arms(subject.root, subject.revisions, subject.recipe, logs=logs, say=say) as (
        old,
        new,
    ):
        say("reading the matrix and preparing its inputs in the new arm")
        plan = inspect_arm(new, make_plan, log=logs / "plan.log")
        for words in plan.messages:
            say(words)
        new_code, old_code = (
            _check_code(arm, plan.works, subject.root, logs) for arm in (new, old)
        )
        changed_files = _changed_files(subject)
        same_code = check_different(old_code.loaded, new_code.loaded, (old, new), changed_files)
        absent = {
            cell: _absent_line(cell, reason, new_code.absent.get(cell))
            for cell, reason in old_code.absent.items()
        }
        works = {cell: work for cell, work in plan.works.items() if cell not in absent}
        bench = _make_bench(works, criteria, plant=plant, logs=logs)
        if criteria is None:
            report = count_arms(bench, old, new, say)
        else:
            report = gate_arms(bench, old, new, criteria, say)
        lines = (*report.lines, *absent.values())
        gaps = _find_arm_gaps(lines, (old, new))
    notes = revision_notes(subject.root, subject.revisions, plant=plant, logs=logs)
    all_notes = (*([same_code] if same_code else ()), *gaps, *report.notes, *notes)
    return replace(report, lines=lines, notes=tuple(dict.fromkeys(all_notes)))


def _absent_line(cell: str, old: str, new: str | None) -> Line:
    """Return the line of a cell that cannot be loaded.

    `old` and `new` are the arms' reasons; `new` is None if the new arm loads the cell.
    """
    if new is None:
        return Line(cell=cell, metric="", word=Verdict.ADDED, note=f"old: {old}")
    return Line(
        cell=cell, metric="", word=Verdict.NO_NUMBER, note=f"neither arm has it; new: {new}"
    )


def _find_arm_gaps(lines: Sequence[Line], arms: Sequence[Arm]) -> Sequence[str]:
    """If a cell has no answer, return sentences on files that the arms lack.

    The missing files may be the reason why the cell failed.
    """
    if all(line.metric for line in lines):
        return ()
    old, new = (find_gaps(arm.tree, arm.checkout) for arm in arms)
    return (
        *(gap for gap in new if gap in old),
        *(f"old arm: {gap}" for gap in old if gap not in new),
        *(f"new arm: {gap}" for gap in new if gap not in old),
    )


def _changed_files(subject: Subject) -> Sequence[str]:
    """Return the names of the files that differ between the revisions."""
    commits = (revision.commit for revision in subject.revisions)
    words = ("diff-tree", "-r", "-z", "--name-only", *commits)
    return [name for name in git(subject.root, *words).split("\0") if name]


def _check_code(arm: Arm, works: Mapping[str, Work], root: Path, logs: Path) -> Code:
    """Return the code that an arm's cells import, after checking that the arm's revision contains it."""
    parts = {
        cell: (
            work.job.engine,
            arm.localise(work.job.workload) or work.job.dataset.workload,
        )
        for cell, work in works.items()
    }
    request = partial(
        locate_code,
        parts=parts,
        checkout=root,
        projects=find_projects(arm.tree) | find_projects(root),
        folder=arm.tree.parent,
    )
    code = inspect_arm(arm, request, log=logs / f"code-{arm.name}.log")
    check_arm(arm, code.places)
    check_installed(arm, code.loaded)
    return code
