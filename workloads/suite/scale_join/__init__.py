"""ScaleJoin's benchmark: a band join of two streams, every pair compared."""

from workloads.model import Bound, OutputType, Parameter, Params, Workload
from workloads.suite.scale_join.generate import PARAMETERS, generate, keys, streams
from workloads.suite.scale_join.oracle import oracle
from workloads.suite.scale_join.program import program

QUERY = {
    "ws_ms": Parameter(
        default=300_000,
        help="window size; the paper also has 60000, and its predecessor 30000",
        minimum=1,
        maximum=2**40,
    ),
    "shares": Parameter(
        default=1000,
        help="round-robin shares in which tuples are kept; does not change the answer",
        minimum=1,
        maximum=100_000,
    ),
}


def bind(params: Params) -> Bound:
    """Return the query and its oracle for a window."""
    ws_ms = int(params["ws_ms"])
    return Bound(
        program=program(ws_ms, int(params["shares"])),
        # A pair is timed 1 ms after the later of its tuples.
        output=OutputType(kinds=("pair",), depends=lambda a, b: False, sorted=True, delay=1),
        oracle=oracle(ws_ms),
    )


_DEFAULT = bind({name: parameter.default for name, parameter in QUERY.items()})

WORKLOAD = Workload(
    name="scale_join",
    title="Band join of two streams, every pair compared",
    paper="STRETCH, 8.3, Operator 10",
    program=_DEFAULT.program,
    output=_DEFAULT.output,
    oracle=_DEFAULT.oracle,
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    query=QUERY,
    bind=bind,
)
