"""High-mobility fraud: counts phones that seem to travel faster than a limit, by call data records."""

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.model import OutputType, Parameter
from streamlab.workloads.suite.high_mobility_fraud import generate
from streamlab.workloads.suite.high_mobility_fraud.oracle import oracle
from streamlab.workloads.suite.high_mobility_fraud.program import program

QUERY = {
    "area": Parameter(default=0, help="area code of the callers", minimum=0, maximum=30_000),
    "most_mps": Parameter(
        default=300.0,
        help="speed in m/s above which a phone is a case; the default is the speed of an airliner",
        minimum=0.0,
        maximum=1e9,
    ),
    "window_ms": Parameter(default=60_000, help="event time of a window", minimum=1, maximum=2**40),
}

# The output is a strict sequence: every window depends on all windows before it.
OUTPUT = OutputType(kinds=("row",), depends=lambda a, b: True)

WORKLOAD = declare_workload(
    generate,
    name="high_mobility_fraud",
    title="Phones that travel faster than a limit, counted by windows of call data records",
    paper="Scaling Ordered Stream Processing on Shared-Memory Multicores, figure 1",
    query=QUERY,
    bind=bind_arguments(program, oracle, OUTPUT),
    small={"phones": 40, "calls_per_s": 2, "areas": 2, "cloned_per_1000": 100},
)
