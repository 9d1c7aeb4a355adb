"""Nexmark query 19: ranks the highest bids of each auction."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q19.oracle import oracle
from streamlab.workloads.suite.nexmark_q19.program import program

WORKLOAD = declare_nexmark_workload(
    19,
    "Auction top ten bids: each bid that is among the ten highest of its auction, with its rank",
    program=program,
    oracle=oracle,
)
