"""Computes how often a gate reports a regression: false alarms, and power with a planted change.

Rounds are few, so each is also resampled many times: in each repetition, the two unchanged arms are
swapped at random, which has no effect if they do not differ.
Resampled gates share their trials: their rate varies less, but its error is that of the rounds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamlab.results.stats.decision import Arms, GateVerdict, Rule, confirm, screen, suspects
from streamlab.results.stats.methods import INDEPENDENT, Method
from streamlab.results.stats.statuses import compare_statuses

DEALS = 200
"""Resampled gates per round; they take a second and need no trial."""

_QUICK_DRAWS = 200
"""Resamples for the noise of a gate; enough for a MAD within a few percent."""

Values = npt.NDArray[np.float64]
GateTest = Callable[[Values, Values], bool]
"""Returns whether a two-stage gate reports a regression; float[2 n] per arm, by repetition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The values of one round and metric: float[2 n] per arm, in the order of repetitions.

    `same` has the two arms without a planted change, `planted` the others by the change's name.
    """

    same: tuple[Values, Values]
    planted: Mapping[str, Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often the gate reported a regression.

    Attributes:
        resampled_alarms: share of resampled gates with a false alarm.
        resampled_detected: share of resampled gates that detect the change, by the planted change.
    """

    rounds: int
    alarms: int
    detected: Mapping[str, int]
    resampled_alarms: float
    resampled_detected: Mapping[str, float]


def cost_gate(rule: Rule, rng: np.random.Generator, method: Method = INDEPENDENT) -> GateTest:
    """Return a gate on costs."""
    quick = replace(rule, draws=_QUICK_DRAWS)
    key = ("cell", "metric")

    def gate(old: Values, new: Values) -> bool:
        def stage(number: int) -> dict[tuple[str, str], Arms]:
            part = slice(number * rule.n, (number + 1) * rule.n)
            return {key: Arms(old=tuple(old[part]), new=tuple(new[part]), method=method)}

        first = screen(stage(0), quick, rng)
        if not suspects(first):
            return False
        return confirm(first, stage(1), quick, rng)[0].verdict is GateVerdict.REGRESSION

    return gate


def status_gate(rule: Rule) -> GateTest:
    """Return a gate on statuses, whose values are the levels of the statuses."""

    def gate(old: Values, new: Values) -> bool:
        parts = slice(0, rule.n), slice(rule.n, 2 * rule.n)
        return all(
            compare_statuses(list(map(int, old[part])), list(map(int, new[part])), rule.alpha).worse
            for part in parts
        )

    return gate


def rate(
    blocks: Sequence[Block], gate: GateTest, rng: np.random.Generator, deals: int = DEALS
) -> Rates:
    """Return how often a gate reports a regression, over at least one block."""
    plants = list(blocks[0].planted)
    return Rates(
        rounds=len(blocks),
        alarms=sum(gate(*block.same) for block in blocks),
        detected={
            name: sum(gate(block.same[0], block.planted[name]) for block in blocks)
            for name in plants
        },
        resampled_alarms=_mean([_deal(block, None, gate, rng, deals) for block in blocks]),
        resampled_detected={
            name: _mean([_deal(block, name, gate, rng, deals) for block in blocks])
            for name in plants
        },
    )


def _deal(
    block: Block, plant: str | None, gate: GateTest, rng: np.random.Generator, deals: int
) -> float:
    """Return the share of resampled gates that report a regression."""
    first, second = block.same
    calls = 0
    for _ in range(deals):
        swap = rng.random(len(first)) < 0.5
        other = np.where(swap, first, second)
        new = other if plant is None else block.planted[plant]
        calls += gate(np.where(swap, second, first), new)
    return calls / deals


def _mean(shares: Sequence[float]) -> float:
    return float(np.mean(shares))
