"""Defines the systems in the claims of Data-Trace Types."""

from streamlab.lab.figures.systems import System

TYPED = System(
    name="typed",
    source="Data-Trace Types, sections 4 and 5",
    algorithm="a typed dataflow graph, deployed by its types",
    variant="multicore/dataflow",
)
HANDCRAFTED = System(
    name="handcrafted",
    source="Data-Trace Types, section 6; there in Storm",
    algorithm="the same query as bolts that an engineer writes by hand",
    engine="storm",
    absent="Storm is no engine of this lab",
    stand_in="the query by hand for this lab's own operators, in C++ (multicore/vsn; query I: "
    "multicore/ordered)",
)
