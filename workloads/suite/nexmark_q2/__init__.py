"""Nexmark query 2: selects the bids for some auctions."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.nexmark_q2.oracle import oracle
from streamlab.workloads.suite.nexmark_q2.program import program

QUERY = {
    "every": Parameter(
        default=123, help="selects auctions that are multiples of this", minimum=1, maximum=2**31
    )
}

WORKLOAD = declare_nexmark_workload(
    2, "Selection: prices of bids for some auctions", program=program, oracle=oracle, query=QUERY
)
