"""How many outputs a quantile of latency needs, stated before it is measured."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from streamlab.lab.gate.decision import Pair
from streamlab.lab.gate.metrics import Metric

TAIL_ERROR = 0.1
"""Standard error that chance alone may give to the share of outputs beyond a quantile."""


def outputs_needed(quantile: float, tail_error: float = TAIL_ERROR) -> int:
    """Return how many outputs of a trial a quantile needs.

    Of n outputs, k = n (1 - quantile) lie beyond it, give or take sqrt(k) (binomial): a share of
    1 / sqrt(k). At a tenth, the 99th percentile needs 10,000 outputs and the median 200.
    """
    return ceil(round(1 / (tail_error**2 * (1 - quantile)), 6))


def describe_outputs(first: Mapping[str, Pair], metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield what each quantile of a cell under a load needs, and what a trial has.

    Args:
        first: trials whose time does not count, by cell.
        metrics: what is to be measured.
    """
    quantiles = [(m.name, m.quantile) for m in metrics if m.quantile is not None]
    for cell, pair in first.items():
        trials = [*pair.old, *pair.new]
        if not all(trial.get("offered_eps") for trial in trials):
            continue
        outputs = min(trial.get("latency_count") or 0 for trial in trials)
        for name, quantile in quantiles:
            needed = outputs_needed(quantile)
            words = (
                f"{cell}: {name} needs {needed:,} outputs in the window of a trial, so that chance "
                f"moves the share beyond it by no more than {TAIL_ERROR:.0%}; a trial has "
                f"{outputs:,}"
            )
            too_few = f": make window_s or the rate {needed / max(outputs, 1):.2g} times as large"
            yield words + (too_few if outputs < needed else "")
