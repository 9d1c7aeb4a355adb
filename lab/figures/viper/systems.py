"""Whose systems the claims of Viper are about."""

from lab.figures.systems import OWN, System
from lab.figures.viper.grid import LAYERS

OWN_CL = System(
    name="CL",
    source=f"{OWN}, after Viper, section 3",
    algorithm="channels that are ordered logs, merged by runs",
    variant=LAYERS,
)
OWN_OL = System(
    name="OL",
    source=f"{OWN}, after Viper, section 3",
    algorithm="merge operators that merge by runs",
    variant=LAYERS,
)
