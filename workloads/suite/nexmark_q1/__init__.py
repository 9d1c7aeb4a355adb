"""Nexmark query 1: converts the prices of bids from dollars to euros."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q1.oracle import oracle
from streamlab.workloads.suite.nexmark_q1.program import program

WORKLOAD = declare_nexmark_workload(
    1, "Currency conversion: every bid, its price in euros", program=program, oracle=oracle
)
