"""A synthetic engine of known capacity, and a search on it."""

from dataclasses import dataclass

import numpy as np

from streamlab.lab.runner.search.bisection import replay
from streamlab.lab.runner.search.state import FAIL, INVALID, PASS, Vote


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """Passes a rate with a chance that falls from 1 to 0 around its capacity.

    `spread`: scale of the logistic, as a share of the capacity; 0: a sharp edge. `lapse`: chance
    that a trial fails whatever the rate, as when the machine is disturbed. `generator_eps`: rates
    above it are invalid.
    """

    capacity_eps: float
    spread: float = 0.0
    lapse: float = 0.0
    generator_eps: float = np.inf

    def vote(self, rate_eps, rng):
        if rate_eps > self.generator_eps:
            return Vote(verdict=INVALID, reason="generator: send lag p99 3 ms, above 1 ms")
        if rng.random() < self.lapse:
            return Vote(verdict=FAIL, reason="a lapse")
        if self.spread == 0:
            passes = rate_eps <= self.capacity_eps
        else:
            excess = (rate_eps / self.capacity_eps - 1) / self.spread
            passes = rng.random() < 1 / (1 + np.exp(min(excess, 700)))
        return Vote(verdict=PASS) if passes else Vote(verdict=FAIL, reason="backlog grows")


def searched(engine, settings, rng=None, *, feasible_eps=None, most=2000):
    """Search to the end; return the final state and the votes."""
    rng = rng or np.random.default_rng(0)
    votes = []
    state = replay(settings, votes, feasible_eps=feasible_eps)
    while state.next is not None and len(votes) < most:
        votes.append(engine.vote(state.next.rate_eps, rng))
        state = replay(settings, votes, feasible_eps=feasible_eps)
    assert len(votes) < most, "the search does not end"
    return state, votes
