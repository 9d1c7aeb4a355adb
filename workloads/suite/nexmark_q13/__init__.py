"""Nexmark query 13: joins bids with a bounded table."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.nexmark_q13.oracle import oracle
from streamlab.workloads.suite.nexmark_q13.program import program

QUERY = {
    "rows": Parameter(
        default=10_000,
        help="rows of the table; key k has the value rows - k",
        minimum=1,
        maximum=10**7,
    )
}

WORKLOAD = declare_nexmark_workload(
    13,
    "Bounded side input join: every bid, with the value of its auction modulo the rows of a table",
    program=program,
    oracle=oracle,
    query=QUERY,
)
