"""Nexmark query 7: finds the highest bids of each window."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.nexmark_q7.oracle import oracle
from streamlab.workloads.suite.nexmark_q7.program import program

QUERY = {
    "size_ms": Parameter(
        default=10_000, help="length of a window (event time)", minimum=1, maximum=2**40
    )
}

WORKLOAD = declare_nexmark_workload(
    7,
    "Highest bid: the bids with the highest price of each window",
    program=program,
    oracle=oracle,
    query=QUERY,
)
