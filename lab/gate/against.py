"""Gates the working tree against another revision: builds both alike and measures them in turn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.build import Say, build_arm, compiler_version, lock_revision, source_tree
from streamlab.lab.gate.code_location import check_built_packages
from streamlab.lab.gate.decision import GateCriteria, Pair, decide_gate
from streamlab.lab.gate.instructions import Counts, count_tree, report_counts
from streamlab.lab.gate.metrics import METRICS
from streamlab.lab.gate.outcome import GateReport
from streamlab.lab.gate.report_notes import describe_outputs, reference_notes
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

    `plant` is the share of busy work added to the new arm, to test the gate.

    Raises:
        GateError: a revision does not build, or a cell cannot be gated.
    """
    check_cells(cells)
    check_built_packages(cells)
    compiler_version()  # raises without a compiler, before inputs are made
    datasets = find_inputs(cells, master=master, say=say)
    old, new = build_both(checkout, revisions, say)
    bench = make_bench(make_works(cells, datasets), criteria, plant=plant, logs=logs)
    report = gate_arms(bench, old, new, criteria, say)
    return replace(
        report, notes=(*report.notes, *revision_notes(revisions, plant=plant, logs=logs))
    )


def make_bench(
    cells: Mapping[str, Work], criteria: GateCriteria | None, *, plant: float, logs: Path
) -> Bench:
    """Return the bench that runs the cells; other arguments as for `gate_revisions`."""
    return Bench(
        works=cells,
        logs=logs,
        planted={"new": {"planted_slowdown": plant}} if plant else {},
        energy="none" if criteria is None else _energy(criteria),
    )


def revision_notes(revisions: tuple[Revision, Revision], *, plant: float, logs: Path) -> list[str]:
    """Return notes on the revisions, planted work and logs."""
    notes = [f"logs: {logs}"]
    new = revisions[1]
    if new.changed:
        notes.insert(
            0,
            "the gate measures commits: it made one of the working tree's changes, "
            f"{new.commit[:12]}, without the files that git ignores",
        )
    notes[:0] = new.left_out
    if plant:
        notes.insert(0, f"{plant:.0%} of busy work was planted in the new arm")
    return notes


def build_both(checkout: Path, revisions: tuple[Revision, Revision], say: Say) -> tuple[Arm, Arm]:
    """Build both revisions and return them as arms.

    Raises:
        GateError: a revision does not build.
    """
    old, new = (
        build_arm(checkout, revision, name, say)
        for revision, name in zip(revisions, ("old", "new"), strict=True)
    )
    return old, new


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
    """Count the instructions of both revisions and return the report.

    Raises:
        GateError: a revision cannot be counted.
    """
    counts: list[Counts] = []
    for revision in revisions:
        with lock_revision(checkout, revision):
            tree = source_tree(checkout, revision)
        say(f"counting the instructions of {revision.shown}")
        counts.append(count_tree(checkout, tree, tree.parent / "instructions.json"))
    names = (revisions[0].shown, revisions[1].shown)
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


def _energy(criteria: GateCriteria) -> str:
    """Return the energy provider for the trials: `none` unless energy is gated."""
    if not any(metric is METRICS["energy"] for metric in criteria.metrics):
        return "none"

    return choose("auto").name
