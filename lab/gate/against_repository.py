"""Gates the engines and workloads of another repository, in two of its revisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streamlab.lab.gate.against import gate_arms, make_bench, revision_notes
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.arm_inspection import Code, CodeRequest, Plan, PlanRequest, inspect_arm
from streamlab.lab.gate.build import Say
from streamlab.lab.gate.cell_instructions import check_valgrind, count_arms
from streamlab.lab.gate.code_location import check_arm
from streamlab.lab.gate.decision import GateCriteria
from streamlab.lab.gate.installed_code import check_different, check_installed
from streamlab.lab.gate.missing_files import find_gaps
from streamlab.lab.gate.outcome import GateReport, Line, Word
from streamlab.lab.gate.projects import find_projects
from streamlab.lab.gate.repository import Recipe, build_arms
from streamlab.lab.gate.source import Revision
from streamlab.lab.gate.trials import Work
from streamlab.lab.host.git import git


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The repository to gate."""

    root: Path
    revisions: tuple[Revision, Revision]
    recipe: Recipe


def gate_repository(
    subject: Subject,
    matrix: PlanRequest,
    criteria: GateCriteria | None,
    *,
    plant: float,
    logs: Path,
    say: Say,
) -> GateReport:
    """Measure cells in two revisions of a repository and return the report.

    A cell that only the new revision has is reported, not measured. Without criteria, counts
    instructions.

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
        plan: Plan = inspect_arm(new, matrix, log=logs / "plan.log")
        for words in plan.messages:
            say(words)
        codes = [_check_code(arm, plan.works, subject.root, logs) for arm in (new, old)]
        changed = _changed_files(subject)
        same = check_different(codes[1].loaded, codes[0].loaded, (old, new), changed)
        absent = {
            cell: _absent_line(cell, why, codes[0].absent.get(cell))
            for cell, why in codes[1].absent.items()
        }
        works = {cell: work for cell, work in plan.works.items() if cell not in absent}
        bench = make_bench(works, criteria, plant=plant, logs=logs)
        if criteria is None:
            report = count_arms(bench, old, new, say)
        else:
            report = gate_arms(bench, old, new, criteria, say)
        lines = (*report.lines, *absent.values())
        gaps = _gaps(lines, (old, new))
    notes = revision_notes(subject.revisions, plant=plant, logs=logs)
    all_notes = (*([same] if same else ()), *gaps, *report.notes, *notes)
    return replace(report, lines=lines, notes=tuple(dict.fromkeys(all_notes)))


def _absent_line(cell: str, old: str, new: str | None) -> Line:
    """Return the line of a cell that the old arm, and perhaps also the new one, cannot load."""
    if new is None:
        return Line(cell=cell, metric="", word=Word.ADDED, note=f"old: {old}")
    return Line(cell=cell, metric="", word=Word.NO_NUMBER, note=f"neither arm has it; new: {new}")


def _gaps(lines: Sequence[Line], arms: Sequence[Arm]) -> Sequence[str]:
    """Return the files that the arms lack, if a cell has no answer: they may be the reason."""
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
    """Return the code that an arm's cells import, and check that it is from the arm's revision."""
    parts = {
        cell: (
            work.job.engine,
            arm.localise(work.job.workload) or work.job.dataset.workload,
        )
        for cell, work in works.items()
    }
    request = CodeRequest(
        parts=parts,
        checkout=root,
        projects=find_projects(arm.tree) | find_projects(root),
        folder=arm.tree.parent,
    )
    code: Code = inspect_arm(arm, request, log=logs / f"code-{arm.name}.log")
    check_arm(arm, code.places)
    check_installed(arm, code.loaded)
    return code
