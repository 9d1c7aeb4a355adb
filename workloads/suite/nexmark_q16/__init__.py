"""Nexmark query 16: statistics of the bids of each channel and day."""

from streamlab.workloads.inputs.nexmark.bidding_statistics import DAY
from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q16.oracle import oracle
from streamlab.workloads.suite.nexmark_q16.program import program

WORKLOAD = declare_nexmark_workload(
    16,
    "Channel statistics report: bids, bidders and auctions of each channel and day so far, after each bid",
    program=program,
    oracle=oracle,
    query=DAY,
)
