"""Nexmark query 8: finds new persons who opened an auction soon."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.nexmark_q8.oracle import oracle
from streamlab.workloads.suite.nexmark_q8.program import program

QUERY = {
    "size_ms": Parameter(
        default=10_000, help="length of a window (event time)", minimum=1, maximum=2**40
    )
}

WORKLOAD = declare_nexmark_workload(
    8,
    "Monitor new users: persons who registered and opened an auction in the same window",
    program=program,
    oracle=oracle,
    query=QUERY,
)
