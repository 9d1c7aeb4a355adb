"""Nexmark query 20: joins bids with the auctions of a category."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q20.oracle import oracle
from streamlab.workloads.suite.nexmark_q20.program import program

WORKLOAD = declare_nexmark_workload(
    20,
    "Expand bid with auction: bids with their auctions of category 10",
    program=program,
    oracle=oracle,
)
