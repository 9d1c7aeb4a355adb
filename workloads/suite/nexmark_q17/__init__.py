"""Nexmark query 17: statistics of the bids for each auction and day."""

from streamlab.workloads.inputs.nexmark.bidding_statistics import DAY
from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q17.oracle import oracle
from streamlab.workloads.suite.nexmark_q17.program import program

WORKLOAD = declare_nexmark_workload(
    17,
    "Auction statistics report: prices of each auction and day so far, after each bid",
    program=program,
    oracle=oracle,
    query=DAY,
)
