"""Counts of pairs of nearby words in tweets over sliding windows."""

from functools import partial

from workloads.model import Bound, OutputType, Parameter, Params, Workload
from workloads.paircount.oracle import oracle
from workloads.paircount.program import program
from workloads.tweets import INPUT, PARAMETERS, generate, keys, streams

QUERY = {
    "wa_ms": Parameter(default=60_000, help="window advance (event time)", minimum=1),
    "ws_ms": Parameter(default=120_000, help="window size (event time)", minimum=1),
    "distance": Parameter(
        default=3,
        help="how far apart two words of a pair may be: 3, 10 and 0 (unbounded) are the paper's "
        "L, M and H",
        minimum=0,
        maximum=2**20,
    ),
}

OUTPUT = OutputType(
    kinds=("count",),
    depends=lambda a, b: a.key == b.key,
    key_field="pair",
    sorted=True,
)


def bind(query: Params) -> Bound:
    """Return what is computed for these windows and this distance."""
    wa_ms, ws_ms, distance = (int(query[name]) for name in ("wa_ms", "ws_ms", "distance"))
    return Bound(
        program=program(wa_ms, ws_ms, distance),
        output=OUTPUT,
        oracle=partial(oracle, wa_ms=wa_ms, ws_ms=ws_ms, distance=distance),
    )


_DEFAULT = bind({name: parameter.default for name, parameter in QUERY.items()})

WORKLOAD = Workload(
    name="paircount",
    title="How many tweets hold each pair of nearby words, over sliding windows",
    paper="STRETCH, section 8.1, Operator 14",
    program=_DEFAULT.program,
    output=_DEFAULT.output,
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    oracle=_DEFAULT.oracle,
    query=QUERY,
    bind=bind,
    input=INPUT,
)
