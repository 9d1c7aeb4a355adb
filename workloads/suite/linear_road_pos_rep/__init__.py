"""Linear Road's pos_rep: forwards position reports and drops requests."""

from streamlab.workloads.inputs.linear_road.generate import declare_linear_road_workload
from streamlab.workloads.suite.linear_road_pos_rep.oracle import oracle
from streamlab.workloads.suite.linear_road_pos_rep.program import PROGRAM

WORKLOAD = declare_linear_road_workload(
    name="linear_road_pos_rep",
    title="Linear Road's position reports, among requests (stateless)",
    paper="Viper, 4.1, operator pos_rep",
    program=PROGRAM,
    oracle=oracle,
)
