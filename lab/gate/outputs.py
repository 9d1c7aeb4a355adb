"""Computes how many outputs a quantile of latency needs, before it is measured."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from streamlab.lab.gate.decision import Pair
from streamlab.lab.gate.metrics import Metric

TAIL_ERROR = 0.1
"""Largest relative standard error of the share of outputs beyond a quantile."""


def outputs_needed(quantile: float, tail_error: float = TAIL_ERROR) -> int:
    """Return how many outputs a trial needs for a quantile.

    Of n outputs, k = n (1 - quantile) lie beyond the quantile, with a standard error of sqrt(k)
    (binomial), or 1 / sqrt(k) relative to k. For a relative error of a tenth, the 99th percentile
    needs 10,000 outputs and the median 200.
    """
    return ceil(round(1 / (tail_error**2 * (1 - quantile)), 6))


def describe_outputs(first: Mapping[str, Pair], metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield a sentence per quantile and cell under a load: outputs needed, and outputs of a trial."""
    quantiles = [(m.name, m.quantile) for m in metrics if m.quantile is not None]
    for cell, pair in first.items():
        trials = [*pair.old, *pair.new]
        if not all(trial.get("offered_eps") for trial in trials):
            continue
        outputs = min(trial.get("latency_count") or 0 for trial in trials)
        for name, quantile in quantiles:
            needed = outputs_needed(quantile)
            words = (
                f"{cell}: {name} needs {needed:,} outputs in a trial's window, for a standard "
                f"error of {TAIL_ERROR:.0%} in the share beyond it; a trial has {outputs:,}"
            )
            too_few = f": increase window_s or the rate {needed / max(outputs, 1):.2g} times"
            yield words + (too_few if outputs < needed else "")
