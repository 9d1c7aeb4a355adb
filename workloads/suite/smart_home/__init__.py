"""Smart home: predicts the loads of plugs, households and houses, two slices of time ahead."""

from functools import partial

from streamlab.workloads.inputs.homes import INPUT, LAYOUT, check_slice, plugs_per_house, unfit
from streamlab.workloads.inputs.query_workload import declare_workload
from streamlab.workloads.model import Bound, OutputType, Parameter, Params
from streamlab.workloads.suite.smart_home import generate
from streamlab.workloads.suite.smart_home.oracle import oracle
from streamlab.workloads.suite.smart_home.program import LEVELS, program

QUERY = LAYOUT | {
    "days": Parameter(
        default=31, help="maximum number of earlier days in the median", minimum=1, maximum=366
    ),
}


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters.

    Raises:
        ModelError: slices do not divide a day.
    """
    check_slice(int(query["slice_s"]))
    slice_s, days = int(query["slice_s"]), int(query["days"])
    household, house = int(query["plugs_per_household"]), plugs_per_house(query)
    return Bound(
        program=program(slice_s, days, household, house),
        output=OutputType(
            kinds=LEVELS,
            depends=lambda a, b: a.kind == b.kind and a.key == b.key,
            kind_field="level",
            key_field="id",
        ),
        oracle=partial(
            oracle,
            slice_s=slice_s,
            days=days,
            plugs_per_household=household,
            plugs_per_house=house,
        ),
    )


WORKLOAD = declare_workload(
    generate,
    name="smart_home",
    title="Loads of plugs, households and houses, predicted at the end of each slice of time",
    paper="Stream Processing with Dependency-Guided Synchronization, appendix A.2 (DEBS 2014, 1)",
    query=QUERY,
    bind=bind,
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
