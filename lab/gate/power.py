"""How often a gate calls a regression on measured rounds: false alarms, and power with a plant.

Rounds are few, so each is also dealt anew many times: which of both unchanged arms is called old is
chosen by lot in every repetition, which changes nothing when nothing differs. These resampled gates
share their trials; their rate is steadier than that of the rounds, its error is that of the rounds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamlab.results.stats.decision import Arms, GateVerdict, Rule, confirm, screen, suspects
from streamlab.results.stats.methods import INDEPENDENT, Method
from streamlab.results.stats.statuses import compare_statuses

DEALS = 200
"""Resampled gates per round; they cost a second and no trial."""

_QUICK_DRAWS = 200
"""Resamples for the noise of a gate: enough for a MAD to a few percent."""

Values = npt.NDArray[np.float64]
Called = Callable[[Values, Values], bool]
"""Whether a two-stage gate calls a regression; float[2 n] an arm, in the order of repetitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What one round measured of one metric: float[2 n] by arm, in the order of repetitions.

    Attributes:
        same: both arms without a plant.
        planted: by the name of the plant.
    """

    same: tuple[Values, Values]
    planted: Mapping[str, Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often the gate called a regression.

    Attributes:
        rounds: how many.
        alarms: of rounds without a change.
        seen: of rounds with one, by its plant.
        resampled_alarms: share of the resampled gates without a change.
        resampled_seen: the same with one.
    """

    rounds: int
    alarms: int
    seen: Mapping[str, int]
    resampled_alarms: float
    resampled_seen: Mapping[str, float]


def costs_called(rule: Rule, rng: np.random.Generator, method: Method = INDEPENDENT) -> Called:
    """Return the gate on costs."""
    quick = replace(rule, draws=_QUICK_DRAWS)
    key = ("cell", "metric")

    def called(old: Values, new: Values) -> bool:
        def stage(number: int) -> dict[tuple[str, str], Arms]:
            part = slice(number * rule.n, (number + 1) * rule.n)
            return {key: Arms(old=tuple(old[part]), new=tuple(new[part]), method=method)}

        first = screen(stage(0), quick, rng)
        if not suspects(first):
            return False
        return confirm(first, stage(1), quick, rng)[0].verdict is GateVerdict.REGRESSION

    return called


def statuses_called(rule: Rule) -> Called:
    """Return the gate on statuses, whose values are their levels."""

    def called(old: Values, new: Values) -> bool:
        parts = slice(0, rule.n), slice(rule.n, 2 * rule.n)
        return all(
            compare_statuses(list(map(int, old[part])), list(map(int, new[part])), rule.alpha).worse
            for part in parts
        )

    return called


def rate(
    blocks: Sequence[Block], called: Called, rng: np.random.Generator, deals: int = DEALS
) -> Rates:
    """Return how often a gate calls a regression on at least one block."""
    plants = list(blocks[0].planted)
    return Rates(
        rounds=len(blocks),
        alarms=sum(called(*block.same) for block in blocks),
        seen={
            name: sum(called(block.same[0], block.planted[name]) for block in blocks)
            for name in plants
        },
        resampled_alarms=_mean([_deal(block, None, called, rng, deals) for block in blocks]),
        resampled_seen={
            name: _mean([_deal(block, name, called, rng, deals) for block in blocks])
            for name in plants
        },
    )


def _deal(
    block: Block, plant: str | None, called: Called, rng: np.random.Generator, deals: int
) -> float:
    """Return the share of resampled gates that call a regression."""
    first, second = block.same
    calls = 0
    for _ in range(deals):
        swap = rng.random(len(first)) < 0.5
        other = np.where(swap, first, second)
        new = other if plant is None else block.planted[plant]
        calls += called(np.where(swap, second, first), new)
    return calls / deals


def _mean(shares: Sequence[float]) -> float:
    return float(np.mean(shares))
