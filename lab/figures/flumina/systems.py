"""Defines the systems in the claims of DGS, by the series of its table 1."""

from streamlab.lab.figures.systems import System

_TIMELY = "Timely Dataflow is no engine of this lab"
SYSTEMS = {
    "F": System(
        name="Flink by itself",
        source="DGS, section 4.1, Flink",
        algorithm="keyed and broadcast streams of Flink",
        variant="flink/automatic",
        engine="flink",
    ),
    "FM": System(
        name="Flink, manual synchronization",
        source="DGS, section 4.2, Flink",
        algorithm="Flink's instances with a service that joins and forks their states",
        variant="flink/manual",
        engine="flink",
    ),
    "TD": System(
        name="Timely by itself",
        source="DGS, section 4.1, Timely Dataflow",
        algorithm="exchange and broadcast of Timely Dataflow",
        engine="timely",
        absent=_TIMELY,
    ),
    "TDM": System(
        name="Timely, manual partition",
        source="DGS, section 4.2, Timely Dataflow",
        algorithm="Timely Dataflow with a partition that the program knows",
        engine="timely",
        absent=_TIMELY,
    ),
    "DGS": System(
        name="DGS",
        source="DGS, section 3",
        algorithm="workers in a synchronization plan, whose states fork and join",
        variant="multicore/dgs",
    ),
}
DGS, FLINK, FLINK_MANUAL = SYSTEMS["DGS"], SYSTEMS["F"], SYSTEMS["FM"]

HANDCRAFTED = System(
    name="handcrafted outlier detection",
    source="Otey, Ghoting, Parthasarathy 2006; DGS, appendix A.1",
    algorithm="C++ processes of a cluster that merge models on request",
    absent="the program of Otey et al. is no engine of this lab",
)
WINNER = System(
    name="winner of the DEBS challenge of 2014",
    source="Mutschler et al. 2014; DGS, appendix A.2",
    algorithm="the challenge's winning program",
    absent="the winner's program is no engine of this lab",
)
