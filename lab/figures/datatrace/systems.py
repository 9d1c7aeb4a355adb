"""Whose systems the claims of Data-Trace Types are about."""

from lab.figures.systems import System

TYPED = System(
    name="typed",
    source="Data-Trace Types, sections 4 and 5",
    algorithm="a typed dataflow graph, deployed by its types",
    variant="multicore/dataflow",
)
HANDCRAFTED = System(
    name="handcrafted",
    source="Data-Trace Types, section 6; there in Storm",
    algorithm="the same query written by hand for operators of the native engine",
    variant="multicore/vsn",
)
