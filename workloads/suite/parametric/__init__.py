"""Parametric: a pipeline of operators whose cost, sizes, selectivity and skew are parameters."""

from workloads.inputs.declare import declared
from workloads.model import Bound, OutputType, Params
from workloads.suite.parametric import generate
from workloads.suite.parametric.oracle import oracle
from workloads.suite.parametric.program import program
from workloads.suite.parametric.settings import QUERY, settings_of


def bind(params: Params) -> Bound:
    """Return the pipeline and its oracle for descriptions of its operators."""
    operators = settings_of(params)
    return Bound(
        program=program(operators),
        # One sequence: every record depends on every other.
        output=OutputType(kinds=("record",), depends=lambda a, b: True),
        oracle=oracle(operators),
    )


WORKLOAD = declared(
    generate,
    name="parametric",
    title="Operators of chosen cost, state, selectivity and skew, in a row",
    paper="Scaling Ordered Stream Processing, 7.2 and 7.3",
    query=QUERY,
    bind=bind,
    small={"keys": 40},
)
