"""Linear Road's tolls: computes the toll of vehicles that enter a segment from the segment's last minutes."""

from streamlab.workloads.inputs.linear_road.generate import declare_linear_road_workload
from streamlab.workloads.model import OutputType
from streamlab.workloads.suite.linear_road_toll.oracle import oracle
from streamlab.workloads.suite.linear_road_toll.program import PROGRAM

WORKLOAD = declare_linear_road_workload(
    name="linear_road_toll",
    title="Linear Road's tolls: by vehicles, speed and accidents of the minutes before",
    paper="Viper, figure 1: A1, F, A2, M",
    program=PROGRAM,
    oracle=oracle,
    # Outputs of one time are independent, even of one vehicle, because they come from separate segments.
    output=OutputType(kinds=("toll",), depends=lambda a, b: False, key_field="vid", sorted=True),
)
