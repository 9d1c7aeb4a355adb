"""NYSE hedge: finds pairs of trades of different companies whose prices moved oppositely."""

from functools import partial

from streamlab.workloads.inputs.parameters import SHARES
from streamlab.workloads.inputs.query_workload import declare_workload
from streamlab.workloads.model import Bound, ModelError, OutputType, Parameter, Params
from streamlab.workloads.suite.nyse_hedge import generate
from streamlab.workloads.suite.nyse_hedge.oracle import oracle
from streamlab.workloads.suite.nyse_hedge.program import program

_NO_BOUND = 1e30
"""A bound that no ratio reaches, because ratios of 32-bit prices stay below 2^63."""

QUERY = {
    "ws_ms": Parameter(default=30_000, help="window size", minimum=1, maximum=2**40),
    "lower": Parameter(
        default=-1.05, help="lower bound of ND_R / ND_L", minimum=-_NO_BOUND, maximum=_NO_BOUND
    ),
    "upper": Parameter(
        default=-0.95,
        help="upper bound of ND_R / ND_L; 1e30 means no bound, as in the paper's text",
        minimum=-_NO_BOUND,
        maximum=_NO_BOUND,
    ),
    "shares": SHARES,
}


def bind(params: Params) -> Bound:
    """Return the query and its oracle for a window and bounds.

    Raises:
        ModelError: `lower` is above `upper`.
    """
    ws_ms, lower, upper = int(params["ws_ms"]), float(params["lower"]), float(params["upper"])
    if lower > upper:
        raise ModelError(
            f"nyse_hedge: lower is {lower} and upper {upper}; give a lower bound below the upper"
        )
    return Bound(
        program=program(ws_ms, lower, upper, int(params["shares"])),
        # The time of a pair is 1 ms after the later of its trades.
        output=OutputType(kinds=("hedge",), depends=lambda a, b: False, sorted=True, delay=1),
        oracle=partial(oracle, ws_ms=ws_ms, lower=lower, upper=upper),
    )


WORKLOAD = declare_workload(
    generate,
    name="nyse_hedge",
    title="Trades of different companies that hedge each other, a self-join",
    paper="STRETCH, 8.6",
    query=QUERY,
    bind=bind,
)
