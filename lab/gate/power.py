"""Computes how often a gate reports a regression: false alarms, and power with a planted change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.results.stats.decision import Arms, GateVerdict, Rule, confirm, screen, suspects
from streamlab.results.stats.methods import INDEPENDENT, Method
from streamlab.results.stats.statuses import compare_statuses

Values = npt.NDArray[np.float64]
GateTest = Callable[[Values, Values], bool]
"""Returns whether a two-stage gate reports a regression; takes float[2 n] per arm, by repetition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The values of one round and metric: float[2 n] per arm, in the order of repetitions.

    `same` has the two arms without a planted change; `planted` has the other arms by the change's name.
    """

    same: tuple[Values, Values]
    planted: Mapping[str, Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often the gate reported a regression: without a change, and with each planted change."""

    rounds: int
    alarms: int
    detected: Mapping[str, int]


def cost_gate(rule: Rule, rng: np.random.Generator, method: Method = INDEPENDENT) -> GateTest:
    """Return a gate on costs."""
    key = ("cell", "metric")

    def gate(old: Values, new: Values) -> bool:
        def stage(number: int) -> dict[tuple[str, str], Arms]:
            part = slice(number * rule.n, (number + 1) * rule.n)
            return {key: Arms(old=tuple(old[part]), new=tuple(new[part]), method=method)}

        findings = screen(stage(0), rule, rng)
        if not suspects(findings):
            return False
        return confirm(findings, stage(1), rule, rng)[0].verdict is GateVerdict.REGRESSION

    return gate


def status_gate(rule: Rule) -> GateTest:
    """Return a gate on statuses; it takes the levels of the trials' statuses as values."""

    def gate(old: Values, new: Values) -> bool:
        parts = slice(0, rule.n), slice(rule.n, 2 * rule.n)
        return all(
            compare_statuses(list(map(int, old[part])), list(map(int, new[part])), rule.alpha).worse
            for part in parts
        )

    return gate


def rate(blocks: Sequence[Block], gate: GateTest) -> Rates:
    """Return how often a gate reports a regression, over at least one block."""
    return Rates(
        rounds=len(blocks),
        alarms=sum(gate(*block.same) for block in blocks),
        detected={
            name: sum(gate(block.same[0], block.planted[name]) for block in blocks)
            for name in blocks[0].planted
        },
    )
