"""Whose systems the claims of STRETCH are about."""

from lab.figures.systems import System

_VSN = "multicore/vsn"

STRETCH = System(
    name="VSN",
    source="STRETCH, algorithms 3 and 4",
    algorithm="instances of an operator O+ that all read one ordered log",
    variant=_VSN,
)
FLINK_COUNTS = System(
    name="SN",
    source="STRETCH, section 8.1: algorithms 7, 11 and 13, operators 8 and 12, in Flink",
    algorithm="map instances emit a tuple for each word or pair, aggregates merge-sort them by key",
    variant="multicore/sn-map",
)
FLINK_FORWARD = System(
    name="SN",
    source="STRETCH, section 8.2: operator 15, in Flink",
    algorithm="a copy of each tuple for each instance, whose outputs a downstream reader sorts",
    variant="multicore/sn",
)
OPERATOR_10 = System(
    name="VSN",
    source="STRETCH, operator 10",
    algorithm="a join of stored tuples by f_MK, f_U and f_S, in a deque for each of 1,000 keys",
    variant=_VSN,
)
SCALE_JOIN = System(
    name="ad-hoc",
    source="STRETCH, section 8.3: ScaleJoin",
    algorithm="a hand-written band join, a tuple at a time, whose number of threads is fixed",
    variant="multicore/adhoc",
)
ONE_THREAD = System(
    name="1T",
    source="STRETCH, section 8.3",
    algorithm="a hand-written band join, a tuple at a time, on one thread without a log",
    variant="multicore/1t",
)
