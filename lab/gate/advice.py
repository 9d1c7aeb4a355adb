"""What is to be said beside a gate's lines: of doubt, and of how answers were checked."""

from collections.abc import Iterator, Mapping

from streamlab.lab.gate.decision import Pair
from streamlab.lab.gate.outcome import GateReport, Headline, Word
from streamlab.lab.gate.status import STATUS
from streamlab.reports.summary import BY_REFERENCE, REFERENCE
from streamlab.results.stats.decision import ONE_STAGE, TWO_STAGE, values_needed
from streamlab.results.stats.methods import INDEPENDENT, PAIRED


def checks(pairs: Mapping[str, Pair]) -> Iterator[str]:
    """Yield which cells' answers no independent oracle has judged; nothing where all were."""
    cells = [
        cell
        for cell, pair in pairs.items()
        if any(row.get("checked_by") == REFERENCE for row in (*pair.old, *pair.new))
    ]
    if cells:
        yield f"{BY_REFERENCE}: {', '.join(cells)}"


def advice(report: GateReport, *, one_stage: bool) -> Iterator[str]:
    """Yield why a gate is inconclusive, a sentence each with its remedy; nothing where it is not.

    Args:
        report: the outcome.
        one_stage: what is compared is stored, so that nothing can be measured again.
    """
    if report.headline is not Headline.INCONCLUSIVE:
        return
    doubts = [line.word for line in report.lines if line.doubtful and line.metric != STATUS]
    statuses = sum(line.doubtful and line.metric == STATUS for line in report.lines)
    few, unstable, none = (
        doubts.count(word) for word in (Word.TOO_FEW, Word.UNSTABLE, Word.NO_NUMBER)
    )
    if few:
        rule, tests = ONE_STAGE if one_stage else TWO_STAGE, report.tests
        in_pairs = any(line.paired for line in report.lines if line.word is Word.TOO_FEW)
        method = PAIRED if in_pairs else INDEPENDENT
        needed = values_needed(tests, rule, method)
        remedy = (
            f"store at least {needed} a cell"
            if one_stage
            else f"give --repetitions {needed} or more, and a baseline, if one is used, of as many"
        )
        yield (
            f"{few} of {tests} gated comparisons could not have failed: they have too few "
            f"processes; {tests} of them need {needed} a side (one alone "
            f"{values_needed(1, rule, method)}): {remedy}"
        )
    if unstable:
        remedy = "" if one_stage else "give more --repetitions, "
        yield (
            f"{unstable} of {report.tests} gated comparisons do not exclude a change of 5 %, as "
            f"their noise hides it: use a quieter machine or larger inputs, {remedy}or make "
            "that metric --advisory"
        )
    if statuses:
        remedy = "" if one_stage else ": give more --repetitions"
        yield (
            f"{statuses} cells: some trials of the new arm have a worse status, too few to call "
            f"and too many to pass{remedy}"
        )
    if none:
        yield f"{none} of {len(report.lines)} lines have no number; their notes say why"
    if not doubts and not statuses:
        yield "nothing was compared; name cells that both arms can run"
