"""Event-based windows: sums the values of several streams between two barriers."""

from streamlab.workloads.model import OutputType, Workload
from streamlab.workloads.model.streams.limits import Limit, group_up_to
from streamlab.workloads.suite.event_window.generate import PARAMETERS, generate, keys, streams
from streamlab.workloads.suite.event_window.oracle import oracle
from streamlab.workloads.suite.event_window.program import BARRIER, PROGRAM

WORKLOAD = Workload(
    name="event_window",
    title="Sum of the values of several streams between barriers",
    paper="Stream Processing with Dependency-Guided Synchronization, 4.1 and appendix E",
    program=PROGRAM,
    output=OutputType(kinds=("window",), depends=lambda a, b: True),
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    oracle=oracle,
    limits=(
        Limit(
            field="value",
            quantity="the sum of the values since the last barrier",
            remedy="give values of a coarser unit, or barriers at shorter distances",
            groups=group_up_to(BARRIER),
        ),
    ),
)
