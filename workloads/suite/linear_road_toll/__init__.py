"""Linear Road's tolls: tells a vehicle that enters a segment how many are there, and the toll."""

from streamlab.workloads.inputs.linear_road.declaration import on_linear_road
from streamlab.workloads.model import OutputType
from streamlab.workloads.suite.linear_road_toll.oracle import oracle
from streamlab.workloads.suite.linear_road_toll.program import PROGRAM

WORKLOAD = on_linear_road(
    name="linear_road_toll",
    title="Linear Road's tolls: vehicles counted in each segment, by two states in a row",
    paper="Viper, figure 1: A1, F, A2, M",
    program=PROGRAM,
    oracle=oracle,
    # Those of one time are free, also of one vehicle: they come from segments that share nothing.
    output=OutputType(kinds=("toll",), depends=lambda a, b: False, key_field="vid", sorted=True),
)
