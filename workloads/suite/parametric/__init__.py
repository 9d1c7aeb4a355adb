"""Parametric: a pipeline of operators with given cost, sizes, selectivity and skew."""

from math import prod

from streamlab.workloads.inputs.query_workload import declare_workload
from streamlab.workloads.model import Bound, OutputType, Params
from streamlab.workloads.model.streams.limits import INT64, Limit
from streamlab.workloads.suite.parametric import generate
from streamlab.workloads.suite.parametric.oracle import oracle
from streamlab.workloads.suite.parametric.program import program
from streamlab.workloads.suite.parametric.settings import QUERY, settings_of


def bind(params: Params) -> Bound:
    """Return the pipeline and its oracle for query parameters."""
    operators = settings_of(params)
    return Bound(
        program=program(operators),
        # A strict sequence: every record depends on every other.
        output=OutputType(kinds=("record",), depends=lambda a, b: True),
        oracle=oracle(operators),
        limits=(_ids(prod(setting.copies for setting in operators)),),
    )


def _ids(copies: int) -> Limit:
    """Return the limit on ids: each id becomes `copies` ids."""
    most = INT64[1] // copies - 1
    return Limit(
        field="id",
        what="the id",
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
    bind=bind,
    small={"keys": 40},
)
