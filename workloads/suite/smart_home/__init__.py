"""Smart home: predicts the loads of plugs, households and houses, two slices of time ahead."""

from streamlab.workloads.inputs.homes import INPUT, LAYOUT, check_slice, plugs_per_house, unfit
from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.model import OutputType, Parameter, Params
from streamlab.workloads.suite.smart_home import generate
from streamlab.workloads.suite.smart_home.oracle import oracle
from streamlab.workloads.suite.smart_home.program import LEVELS, program

QUERY = LAYOUT | {
    "days": Parameter(
        default=31, help="maximum number of earlier days in the median", minimum=1, maximum=366
    ),
}


OUTPUT = OutputType(
    kinds=LEVELS,
    depends=lambda a, b: a.kind == b.kind and a.key == b.key,
    kind_field="level",
    key_field="id",
)


def arguments(query: Params) -> Params:
    """Return the arguments of the program and its oracle.

    Raises:
        ModelError: slices do not divide a day.
    """
    check_slice(int(query["slice_s"]))
    names = ("slice_s", "days", "plugs_per_household")
    return {name: query[name] for name in names} | {"plugs_per_house": plugs_per_house(query)}


WORKLOAD = declare_workload(
    generate,
    name="smart_home",
    title="Loads of plugs, households and houses, predicted at the end of each slice of time",
    paper="Stream Processing with Dependency-Guided Synchronization, appendix A.2 (DEBS 2014, 1)",
    query=QUERY,
    bind=bind_arguments(program, oracle, OUTPUT, arguments),
    input=INPUT,
    small={
        "houses": 2,
        "households_per_house": 4,
        "plugs_per_household": 4,
        "period_s": 1200,
        "gaps": 0.2,
        "gap_s": 7200,
    },
    unfit=unfit,
)
