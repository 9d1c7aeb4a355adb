"""Nexmark query 3: finds the persons of some states that sell in a category."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q3.oracle import oracle
from streamlab.workloads.suite.nexmark_q3.program import program

WORKLOAD = declare_nexmark_workload(
    3,
    "Local item suggestion: auctions of category 10 by persons of OR, ID and CA",
    program=program,
    oracle=oracle,
)
