"""Nexmark query 9: finds the winning bid of each auction."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.inputs.nexmark.winning_bids import EVERY
from streamlab.workloads.suite.nexmark_q9.oracle import oracle
from streamlab.workloads.suite.nexmark_q9.program import program

WORKLOAD = declare_nexmark_workload(
    9,
    "Winning bids: the highest bid of each auction, once it has expired",
    program=program,
    oracle=oracle,
    query=EVERY,
)
