"""ScaleJoin's benchmark: a band join of two streams that compares every pair."""

from functools import partial

from streamlab.workloads.inputs.parameters import SHARES
from streamlab.workloads.inputs.query_workload import declare_workload
from streamlab.workloads.model import Bound, OutputType, Parameter, Params
from streamlab.workloads.model.streams.limits import Limit
from streamlab.workloads.suite.scale_join import generate
from streamlab.workloads.suite.scale_join.oracle import oracle
from streamlab.workloads.suite.scale_join.program import program

QUERY = {
    "ws_ms": Parameter(
        default=300_000,
        help="window size; the paper also uses 60000, and its predecessor 30000",
        minimum=1,
        maximum=2**40,
    ),
    "shares": SHARES,
}


def bind(params: Params) -> Bound:
    """Return the query and its oracle for a window."""
    ws_ms = int(params["ws_ms"])
    return Bound(
        program=program(ws_ms, int(params["shares"])),
        # The time of a pair is 1 ms after the later of its tuples.
        output=OutputType(kinds=("pair",), depends=lambda a, b: False, sorted=True, delay=1),
        oracle=partial(oracle, ws_ms=ws_ms),
        limits=tuple(_attribute(name) for name in ("x", "a")),
    )


def _attribute(name: str) -> Limit:
    """Return the limit on an attribute, whose differences must fit 32 bits."""
    return Limit(
        field=name,
        quantity="the attribute",
        remedy="give values of a coarser unit, as differences must fit 32 bits",
        lowest=-(2**30),
        highest=2**30 - 1,
    )


WORKLOAD = declare_workload(
    generate,
    name="scale_join",
    title="Band join of two streams, every pair compared",
    paper="STRETCH, 8.3, Operator 10",
    query=QUERY,
    bind=bind,
)
