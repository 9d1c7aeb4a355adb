"""Parametric: a pipeline of operators with chosen cost, sizes, selectivity and skew."""

from math import prod

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.model import OutputType, Params
from streamlab.workloads.model.streams.limits import INT64, Limit
from streamlab.workloads.suite.parametric import generate
from streamlab.workloads.suite.parametric.oracle import oracle
from streamlab.workloads.suite.parametric.program import program
from streamlab.workloads.suite.parametric.settings import QUERY, Setting, settings_of

# The output is a strict sequence: every record depends on all records before it.
OUTPUT = OutputType(kinds=("record",), depends=lambda a, b: True)


def arguments(query: Params) -> dict[str, tuple[Setting, ...]]:
    """Return the arguments of the program and its oracle."""
    return {"settings": settings_of(query)}


def ids_limit(settings: tuple[Setting, ...]) -> Limit:
    """Return the limit on ids; ids are multiplied by the number of copies."""
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
