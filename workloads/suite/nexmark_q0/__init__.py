"""Nexmark query 0: forwards every bid, to measure the cost of the engine itself."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.suite.nexmark_q0.oracle import oracle
from streamlab.workloads.suite.nexmark_q0.program import program

WORKLOAD = declare_nexmark_workload(0, "Pass-through: every bid", program=program, oracle=oracle)
