"""Nexmark query 14: selects and converts bids, and calls a function of the user on their texts."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q14.oracle import oracle
from streamlab.workloads.suite.nexmark_q14.program import program

WORKLOAD = declare_nexmark_workload(
    14,
    "Calculation: bids of some prices in euros, with the time of day and a count of letters",
    program=program,
    oracle=oracle,
)
