"""Word counts of tweets over sliding windows."""

from functools import partial

from workloads.model import Bound, OutputType, Parameter, Params, Workload
from workloads.tweets import INPUT, PARAMETERS, generate, keys, streams
from workloads.wordcount.oracle import oracle
from workloads.wordcount.program import program

QUERY = {
    "wa_ms": Parameter(default=60_000, help="window advance (event time)", minimum=1),
    "ws_ms": Parameter(default=120_000, help="window size (event time)", minimum=1),
}

OUTPUT = OutputType(
    kinds=("count",),
    depends=lambda a, b: a.key == b.key,
    key_field="word",
    sorted=True,
)


def bind(query: Params) -> Bound:
    """Return what is computed for these windows."""
    wa_ms, ws_ms = int(query["wa_ms"]), int(query["ws_ms"])
    return Bound(
        program=program(wa_ms, ws_ms),
        output=OUTPUT,
        oracle=partial(oracle, wa_ms=wa_ms, ws_ms=ws_ms),
    )


_DEFAULT = bind({name: parameter.default for name, parameter in QUERY.items()})

WORKLOAD = Workload(
    name="wordcount",
    title="How many tweets hold each word, over sliding windows",
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
