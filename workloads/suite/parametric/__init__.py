"""Parametric: a pipeline of operators whose cost, sizes, selectivity and skew are parameters."""

from workloads.model import Bound, OutputType, Params, Workload
from workloads.suite.parametric.generate import PARAMETERS, generate, keys, streams
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


_DEFAULT = bind({name: parameter.default for name, parameter in QUERY.items()})

WORKLOAD = Workload(
    name="parametric",
    title="Operators of chosen cost, state, selectivity and skew, in a row",
    paper="Scaling Ordered Stream Processing, 7.2 and 7.3",
    program=_DEFAULT.program,
    output=_DEFAULT.output,
    oracle=_DEFAULT.oracle,
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    query=QUERY,
    bind=bind,
    small={"keys": 40},
)
