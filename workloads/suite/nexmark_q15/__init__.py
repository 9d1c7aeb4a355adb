"""Nexmark query 15: statistics of the bids of each day."""

from streamlab.workloads.inputs.nexmark.bidding_statistics import DAY
from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q15.oracle import oracle
from streamlab.workloads.suite.nexmark_q15.program import program

WORKLOAD = declare_nexmark_workload(
    15,
    "Bidding statistics report: bids, bidders and auctions of each day so far, after each bid",
    program=program,
    oracle=oracle,
    query=DAY,
)
