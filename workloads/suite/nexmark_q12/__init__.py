"""Nexmark query 12: counts the bids of each bidder in windows of processing time."""

from dataclasses import replace

from streamlab.workloads.inputs.nexmark.declaration import declare_nexmark_workload
from streamlab.workloads.model import Bound, Parameter, Params
from streamlab.workloads.model.workload import INVARIANTS
from streamlab.workloads.suite.nexmark_q12.oracle import oracle
from streamlab.workloads.suite.nexmark_q12.program import declaration, program

SIZE_MS = 10_000
QUERY = {
    "size_ms": Parameter(
        default=SIZE_MS,
        help="length of a window (time since the load's start)",
        minimum=1,
        maximum=2**40,
    )
}

_WORKLOAD = declare_nexmark_workload(
    12,
    "Processing time windows: the bids of each bidder in each window of the time at which they arrive",
    program=program,
    oracle=oracle,
    query=QUERY,
)


def _bind(values: Params) -> Bound:
    assert _WORKLOAD.bind is not None
    return replace(_WORKLOAD.bind(values), declaration=declaration(int(values["size_ms"])))


WORKLOAD = replace(_WORKLOAD, bind=_bind, checked_by=INVARIANTS, declaration=declaration(SIZE_MS))
