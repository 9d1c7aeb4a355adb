"""Parametric: a pipeline of operators with given cost, sizes, selectivity and skew."""

from math import prod

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.model import OutputType, Params
from streamlab.workloads.model.streams.limits import INT64, Limit
from streamlab.workloads.suite.parametric import generate
from streamlab.workloads.suite.parametric.oracle import oracle
from streamlab.workloads.suite.parametric.program import program
from streamlab.workloads.suite.parametric.settings import QUERY, Setting, settings_of

# A strict sequence: every record depends on every other.
OUTPUT = OutputType(kinds=("record",), depends=lambda a, b: True)


def arguments(query: Params) -> dict[str, tuple[Setting, ...]]:
    """Return the arguments of the program and its oracle."""
    return {"settings": settings_of(query)}


def ids_limit(settings: tuple[Setting, ...]) -> Limit:
    """Return the limit on ids: each id becomes as many ids as it is copied."""
    most = INT64[1] // prod(setting.copies for setting in settings) - 1
    return Limit(
        field="id",
        quantity="the id",
        remedy="give smaller ids, or fewer copies (query parameter selectivity)",
        lowest=-most,
        highest=most,
    )


WORKLOAD = declare_workload(
    generate,
    name="parametric",
    title="Operators of chosen cost, state, selectivity and skew, in a row",
    paper="Scaling Ordered Stream Processing, 7.2 and 7.3",
    query=QUERY,
    bind=bind_arguments(program, oracle, OUTPUT, arguments, limit=ids_limit),
    small={"keys": 40},
)
