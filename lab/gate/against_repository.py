"""The gate for a repository that is not this lab's: its engines, its workloads, both revisions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lab.gate.against import bench_of, gate_arms, notes_of
from lab.gate.arm import Arm
from lab.gate.decide import GateCriteria
from lab.gate.in_arm import Code, CodeRequest, Plan, PlanRequest, ask
from lab.gate.outcome import GateReport, Line, Word
from lab.gate.outside import check_arm
from lab.gate.projects import projects
from lab.gate.repository import Recipe, built
from lab.gate.source import Revision
from lab.gate.trials import Say, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is compared.

    Attributes:
        root: of the repository.
        revisions: old and new.
        recipe: how they are built.
    """

    root: Path
    revisions: tuple[Revision, Revision]
    recipe: Recipe


def against_repository(
    subject: Subject,
    matrix: PlanRequest,
    criteria: GateCriteria,
    *,
    plant: float,
    logs: Path,
    say: Say,
) -> GateReport:
    """Return the outcome for cells whose code is in a repository, measured in both revisions.

    Args:
        subject: the repository.
        matrix: what to run; a cell that only the new revision has is told and not measured.
        criteria: what is gated.
        plant: share of busy work added to the new arm, to try the gate; 0 otherwise.
        logs: a folder for the logs of builds and trials.
        say: is told how it gets on.

    Raises:
        GateError: a revision does not build, a cell cannot be gated, or its code does not come
            from what was built.
    """
    with built(subject.root, subject.revisions, subject.recipe, logs=logs, say=say) as (old, new):
        say("reading the matrix, and finding or making its input, in the new arm")
        plan: Plan = ask(new, matrix, log=logs / "plan.log")
        for words in plan.said:
            say(words)
        _checked(new, plan.works, subject.root, logs)
        absent = _checked(old, plan.works, subject.root, logs)
        found = {cell: work for cell, work in plan.works.items() if cell not in absent}
        report = gate_arms(
            bench_of(found, criteria, plant=plant, logs=logs), old, new, criteria, say
        )
    added = (
        Line(cell=cell, metric="", word=Word.ADDED, note=f"old: {why}")
        for cell, why in absent.items()
    )
    return replace(
        report,
        lines=(*report.lines, *added),
        notes=(*report.notes, *notes_of(subject.revisions, plant=plant, logs=logs)),
    )


def _checked(arm: Arm, works: Mapping[str, Work], root: Path, logs: Path) -> Mapping[str, str]:
    """Check where an arm's code comes from; return the cells that it lacks, with the reason."""
    parts = {
        cell: (
            work.job.engine,
            arm.localised(work.job.workload) or work.job.dataset.workload,
        )
        for cell, work in works.items()
    }
    request = CodeRequest(parts=parts, checkout=root, projects=projects(arm.tree))
    code: Code = ask(arm, request, log=logs / f"code-{arm.name}.log")
    check_arm(arm, code.places)
    return code.absent
