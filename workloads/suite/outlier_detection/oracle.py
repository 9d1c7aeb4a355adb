"""Computes the expected outliers, all connections between two checks at once.

It finds itemsets by `np.unique` of pairs of values. The program instead fills tables with one
connection after another.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.connections.schema import (
    CATEGORICAL,
    COMBINATIONS,
    CONTINUOUS,
    EVENT,
)
from streamlab.workloads.model import Columns, Input

Ints = npt.NDArray[np.int64]

OUTLIER, SUMMARY = 0, 1
TAU, DELTA, FACTOR, WINDOW, SUPPORT, MAX_CANDIDATES, ITEMSETS = 1.96, 0.3, 10, 40, 10, 64, 1024
"""The constants of `program`, repeated so that the oracle shares no code with it."""
PAIRS = tuple((a, b) for a in range(len(CATEGORICAL)) for b in range(a, len(CATEGORICAL)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """A model: the itemset of each pair of values and combination (or -1), and its usual ranges."""

    itemset: Ints
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]

    def scores(self, combination: Ints, x: Ints) -> Ints:
        """Return the score of each connection, in half points."""
        total = np.zeros(len(x), dtype=np.int64)
        for this_combination in np.unique(combination):
            rows = np.flatnonzero(combination == this_combination)
            features = x[rows]
            for slot, (a, b) in enumerate(PAIRS):
                itemset = self.itemset[slot, this_combination]
                counts_against = np.ones(len(rows), dtype=np.bool_)
                if itemset >= 0:
                    usual = (features >= self.low[itemset]) & (features <= self.high[itemset])
                    counts_against = (~usual).sum(axis=1) > DELTA * len(CONTINUOUS)
                total[rows] += counts_against * (2 if a == b else 1)
        return total


def oracle(data: Input) -> Columns:
    """Return (ts, kind, connection, score) for the outliers and the summary of each check."""
    events = total_order(data, EVENT)
    payload = {name: column.astype(np.int64) for name, column in events.payload.items()}
    combination = np.clip(payload["combination"], 0, COMBINATIONS - 1)
    x = np.stack([payload[name] for name in CONTINUOUS], axis=1)
    codes = np.stack([payload[name] for name in CATEGORICAL], axis=1)
    rows, checks = payload["row"], np.flatnonzero(events.kind == 1)
    values = np.zeros((COMBINATIONS, len(CATEGORICAL)), dtype=np.int64)
    support = np.zeros(COMBINATIONS, dtype=np.int64)
    sums = np.zeros((COMBINATIONS, len(CONTINUOUS)), dtype=np.int64)
    squares = np.zeros_like(sums)
    fitted: _Fitted | None = None
    means: list[tuple[int, int]] = []
    outputs: list[tuple[int, int, int, int]] = []
    begin = 0
    for check in checks.tolist():
        members = np.arange(begin, check)
        begin = check + 1
        potential = members[:0]
        normal = (0, 0)
        scores = np.zeros(len(members), dtype=np.int64)
        if fitted is not None:
            scores = fitted.scores(combination[members], x[members])
            far = _outliers(scores, means)
            potential = members[far]
            normal = (int((~far).sum()), int(scores[~far].sum()))
            order = np.column_stack(
                [-scores[far], events.ts[potential], rows[potential], combination[potential]]
            )
            columns = np.column_stack([order, x[potential]])
            candidates = potential[np.lexsort(columns.T[::-1])][:MAX_CANDIDATES]
        else:
            candidates = potential
        np.maximum.at(values, combination[members], codes[members])
        np.add.at(support, combination[members], 1)
        np.add.at(sums, combination[members], x[members])
        np.add.at(squares, combination[members], x[members] * x[members])
        fitted = _fit(values, support, sums, squares)
        means = [*means, normal][-WINDOW:]
        new_scores = fitted.scores(combination[candidates], x[candidates])
        ts = int(events.ts[check])
        for place in np.flatnonzero(_outliers(new_scores, means)).tolist():
            outputs.append((ts, OUTLIER, int(rows[candidates[place]]), int(new_scores[place])))
        outputs.append((ts, SUMMARY, len(members), len(potential)))
    table = np.array(outputs, dtype=np.int64).reshape(-1, 4)
    return {
        "ts": table[:, 0],
        "kind": table[:, 1].astype(np.int8),
        "connection": table[:, 2],
        "score": table[:, 3],
    }


def _outliers(scores: Ints, means: list[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Return which scores are far above the mean; `means` has count and sum of the normal scores of past checks."""
    count, total = (sum(part) for part in zip(*means, strict=True)) if means else (0, 0)
    return (scores * count > FACTOR * total) & (count > 0)


def _fit(values: Ints, support: Ints, sums: Ints, squares: Ints) -> _Fitted:
    """Return the model for the counts of all combinations so far."""
    present = np.flatnonzero(support)
    itemset = np.full((len(PAIRS), COMBINATIONS), -1, dtype=np.int64)
    low: list[npt.NDArray[np.float64]] = []
    high: list[npt.NDArray[np.float64]] = []
    for slot, (a, b) in enumerate(PAIRS):
        _, first, member = np.unique(
            values[present][:, [a, b]], axis=0, return_index=True, return_inverse=True
        )
        member = member.reshape(-1)
        for group in np.argsort(first):  # by their first combination
            combinations = present[member == group]
            count = support[combinations].sum()
            if count < SUPPORT or len(low) == ITEMSETS:
                continue
            mean = sums[combinations].sum(axis=0) / float(count)
            variance = squares[combinations].sum(axis=0) / float(count) - mean * mean
            reach = TAU * np.sqrt(np.maximum(variance, 0.0))
            itemset[slot, combinations] = len(low)
            low.append(np.maximum(np.ceil(mean - reach), -(2**15)))
            high.append(np.minimum(np.floor(mean + reach), 2**15 - 1))
    shape = (len(low), len(CONTINUOUS))
    return _Fitted(itemset=itemset, low=np.reshape(low, shape), high=np.reshape(high, shape))
