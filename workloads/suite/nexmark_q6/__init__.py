"""Nexmark query 6: averages the latest winning prices of each seller."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.inputs.nexmark.winning_bids import EVERY
from streamlab.workloads.suite.nexmark_q6.oracle import oracle
from streamlab.workloads.suite.nexmark_q6.program import program

WORKLOAD = declare_nexmark_workload(
    6,
    "Average selling price by seller: of the last ten closed auctions, after each step with one",
    program=program,
    oracle=oracle,
    query=EVERY,
)
