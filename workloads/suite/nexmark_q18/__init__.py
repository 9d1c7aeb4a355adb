"""Nexmark query 18: keeps the last bid of each bidder and auction."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.nexmark_q18.oracle import oracle
from streamlab.workloads.suite.nexmark_q18.program import program

QUERY = {
    "every_ms": Parameter(
        default=2_000,
        help="length of a step; at its end, the last bids of the step leave (event time)",
        minimum=1,
        maximum=2**40,
    )
}

WORKLOAD = declare_nexmark_workload(
    18,
    "Find last bid: of each bidder and auction, after each step with one",
    program=program,
    oracle=oracle,
    query=QUERY,
)
