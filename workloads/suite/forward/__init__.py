"""Forward: forwards each tuple of two streams once for each key, to measure sharing and sorting."""

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.model import OutputType, Parameter
from streamlab.workloads.suite.forward import generate
from streamlab.workloads.suite.forward.oracle import oracle
from streamlab.workloads.suite.forward.program import program

QUERY = {
    "copies": Parameter(
        default=2,
        help="number of keys of a tuple, and of its copies in the output; in the paper the number of instances",
        minimum=1,
        maximum=1024,
    )
}


# The time of an output is 1 ms after its tuple.
OUTPUT = OutputType(kinds=("tuple",), depends=lambda a, b: False, sorted=True, delay=1)


WORKLOAD = declare_workload(
    generate,
    name="forward",
    title="Tuples of two streams, forwarded once for each key",
    paper="STRETCH, 8.2, Operator 15",
    query=QUERY,
    bind=bind_arguments(program, oracle, OUTPUT),
)
