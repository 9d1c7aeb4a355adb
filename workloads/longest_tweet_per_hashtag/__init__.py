"""The longest tweet of each hashtag over sliding windows."""

from functools import partial

from workloads.longest_tweet_per_hashtag.oracle import oracle
from workloads.longest_tweet_per_hashtag.program import program
from workloads.model import Bound, OutputType, Parameter, Params, Workload
from workloads.tweets import INPUT, PARAMETERS, generate, keys, streams

QUERY = {
    "wa_ms": Parameter(default=1_800_000, help="window advance (event time)", minimum=1),
    "ws_ms": Parameter(default=3_600_000, help="window size (event time)", minimum=1),
}

OUTPUT = OutputType(
    kinds=("longest",),
    depends=lambda a, b: a.key == b.key,
    key_field="hashtag",
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
    name="longest_tweet_per_hashtag",
    title="The longest tweet of each hashtag, over sliding windows",
    paper="STRETCH, section 1 and appendix D, Operator 9",
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
