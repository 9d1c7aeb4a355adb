"""Whose systems the claims of Viper are about."""

from lab.figures.systems import System
from lab.figures.viper.grid import LAYERS

VIPER = System(
    name="CL",
    source="Viper, section 3.3",
    algorithm="ScaleGate as channels, watermark tuples for flow control, instances dealt in turn",
    variant=LAYERS,
)
STORM = System(
    name="OL",
    source="Viper, sections 3.1 and 4; there in Storm",
    algorithm="operators that merge and hand over a tuple at a time, instances dealt in turn",
    variant=LAYERS,
)
