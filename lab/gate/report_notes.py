"""Writes a gate's notes: why it is inconclusive, how answers were checked, and whether outputs suffice."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from streamlab.lab.gate.metrics import Metric, Pair
from streamlab.lab.gate.outcome import GateReport, Headline, Verdict
from streamlab.lab.gate.status import STATUS
from streamlab.reports.summary import WITHOUT_ORACLE
from streamlab.results.stats.decision import ONE_STAGE, TWO_STAGE, values_needed
from streamlab.results.stats.methods import INDEPENDENT, PAIRED

TAIL_ERROR = 0.1
"""Largest relative standard error of the share of outputs beyond a quantile."""


def reference_notes(pairs: Mapping[str, Pair]) -> Iterator[str]:
    """Yield a note, if needed, with the cells whose answers no independent oracle checked."""
    for origin, words in WITHOUT_ORACLE.items():
        cells = [
            cell
            for cell, pair in pairs.items()
            if any(row.checked_by == origin for row in (*pair.old, *pair.new))
        ]
        if cells:
            yield f"{words}: {', '.join(cells)}"


def doubt_notes(report: GateReport, *, one_stage: bool) -> Iterator[str]:
    """Yield the reasons why a gate is inconclusive, each with its remedy.

    With `one_stage`, the gate compared stored values, which it cannot measure again.
    """
    if report.headline is not Headline.INCONCLUSIVE:
        return
    doubts = [line.word for line in report.lines if line.doubtful and line.metric != STATUS]
    statuses = sum(line.doubtful and line.metric == STATUS for line in report.lines)
    too_few, unstable, unmeasured = (
        doubts.count(word) for word in (Verdict.TOO_FEW, Verdict.UNSTABLE, Verdict.NO_NUMBER)
    )
    if too_few:
        rule, tests = ONE_STAGE if one_stage else TWO_STAGE, report.tests
        in_pairs = any(line.paired for line in report.lines if line.word is Verdict.TOO_FEW)
        method = PAIRED if in_pairs else INDEPENDENT
        value_count = values_needed(tests, rule, method)
        remedy = (
            f"store at least {value_count} per cell"
            if one_stage
            else f"give --repetitions {value_count} or more, and use a baseline with as many, if any"
        )
        yield (
            f"{too_few} of {tests} gated comparisons have too few processes to fail: {tests} "
            f"comparisons need {value_count} processes per arm (a single one "
            f"{values_needed(1, rule, method)}): {remedy}"
        )
    if unstable:
        remedy = "" if one_stage else "give more --repetitions, "
        yield (
            f"{unstable} of {report.tests} gated comparisons are too noisy to exclude a change of "
            f"5 %: use a quieter machine or larger inputs, {remedy}or make the metric --advisory"
        )
    if statuses:
        remedy = "" if one_stage else ": give more --repetitions"
        yield (
            f"{statuses} cells: some trials of the new arm have a worse status, too few for a "
            f"regression and too many to pass{remedy}"
        )
    if unmeasured:
        yield f"{unmeasured} of {len(report.lines)} lines have no number; their notes say why"
    if not doubts and not statuses:
        yield "nothing was compared; select cells that both arms can run"


def outputs_needed(quantile: float) -> int:
    """Return how many outputs a trial needs for a quantile.

    Of n outputs, k = n (1 - quantile) lie beyond the quantile, with a standard error of sqrt(k)
    (binomial), or 1 / sqrt(k) relative to k. For a relative error of a tenth, the 99th percentile
    needs 10,000 outputs and the median 200.
    """
    # Round the quotient, because 1 - 0.99 is not exact in binary.
    return ceil(round(1 / (TAIL_ERROR**2 * (1 - quantile)), 6))


def describe_outputs(first: Mapping[str, Pair], metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield a sentence per quantile and loaded cell: how many outputs the quantile needs, and how many a trial has."""
    quantiles = [(m.name, m.quantile) for m in metrics if m.quantile is not None]
    for cell, pair in first.items():
        trials = [*pair.old, *pair.new]
        if not all(trial.offered_eps for trial in trials):
            continue
        outputs = min(trial.latency_count or 0 for trial in trials)
        for name, quantile in quantiles:
            needed_outputs = outputs_needed(quantile)
            words = (
                f"{cell}: {name} needs {needed_outputs:,} outputs in a trial's window, for a standard "
                f"error of {TAIL_ERROR:.0%} in the share beyond it; a trial has {outputs:,}"
            )
            remedy = f": increase window_s or the rate {needed_outputs / max(outputs, 1):.2g} times"
            yield words + (remedy if outputs < needed_outputs else "")
