"""Nexmark query 5: finds the auctions with the most bids in sliding windows."""

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.nexmark_q5.oracle import oracle
from streamlab.workloads.suite.nexmark_q5.program import program

QUERY = {
    "slide_ms": Parameter(
        default=2_000, help="windows begin every slide_ms (event time)", minimum=1, maximum=2**32
    ),
    "slides": Parameter(default=5, help="length of a window in slides", minimum=1, maximum=64),
}

WORKLOAD = declare_nexmark_workload(
    5,
    "Hot items: the auctions with the most bids in each sliding window, with all ties",
    program=program,
    oracle=oracle,
    query=QUERY,
)
