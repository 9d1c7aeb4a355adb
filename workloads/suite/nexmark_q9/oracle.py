"""Computes the expected winners of query 9."""

from streamlab.workloads.inputs.nexmark.oracles import winners_of
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.nexmark_q9.program import OUTPUT


def oracle(data: Input, every_ms: int) -> Columns:
    """Return the winners of closed auctions, by the time of closing."""
    winners = winners_of(data, every_ms, steps=1)
    return {name: winners[name] for name in OUTPUT.names or ()}
