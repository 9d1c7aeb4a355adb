"""Nexmark query 11: counts the bids of each session of a bidder."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.nexmark_q11.oracle import oracle
from streamlab.workloads.suite.nexmark_q11.program import program

QUERY = {
    "gap_ms": Parameter(
        default=10_000,
        help="a session ends when its bidder makes no bid for more than this time, in ms of event time",
        minimum=1,
        maximum=2**40,
    )
}

WORKLOAD = declare_nexmark_workload(
    11,
    "User sessions: the bids of each session of a bidder",
    program=program,
    oracle=oracle,
    query=QUERY,
)
