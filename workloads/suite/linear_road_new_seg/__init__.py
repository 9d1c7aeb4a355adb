"""Linear Road's new_seg: forwards a vehicle's report from a new segment."""

from streamlab.workloads.inputs.linear_road.generate import declare_linear_road_workload
from streamlab.workloads.suite.linear_road_new_seg.oracle import oracle
from streamlab.workloads.suite.linear_road_new_seg.program import PROGRAM

WORKLOAD = declare_linear_road_workload(
    name="linear_road_new_seg",
    title="Linear Road's reports of vehicles that enter a segment (a state for each vehicle)",
    paper="Viper, 4.2, operator new_seg",
    program=PROGRAM,
    oracle=oracle,
)
