"""Nexmark query 4: averages the winning prices of each category."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.inputs.nexmark.winning_bids import EVERY
from streamlab.workloads.suite.nexmark_q4.oracle import oracle
from streamlab.workloads.suite.nexmark_q4.program import program

WORKLOAD = declare_nexmark_workload(
    4,
    "Average price for a category: of all its closed auctions so far, after each step with one",
    program=program,
    oracle=oracle,
    query=EVERY,
)
