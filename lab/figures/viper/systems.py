"""Defines the systems in the claims of Viper."""

from streamlab.lab.figures.systems import System
from streamlab.lab.figures.viper.grid import CL, FORMS, LAYERS

VIPER = System(
    name="CL",
    source="Viper, section 3.3",
    algorithm="ScaleGate as channels, watermark tuples for flow control, instances dealt in turn",
    variant=LAYERS,
    options=FORMS[CL],
)
STORM = System(
    name="OL",
    source="Viper, sections 3.1 and 4; there in Storm",
    algorithm="operators that merge and hand over a tuple at a time, instances dealt in turn",
    engine="storm",
    absent="Storm is no engine of this lab",
    stand_in="operators of this lab that merge a tuple at a time, in C++ (multicore/layers)",
)
