"""Defines the systems in the claims of STRETCH, with the engine options that make them."""

from collections.abc import Mapping

from streamlab.lab.figures.systems import System

_VSN = "multicore/vsn"
STORED_TUPLES: Mapping[str, object] = {"join_form": "operator10"}
TUPLE_BY_TUPLE: Mapping[str, object] = {"join_form": "tuples"}

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
    engine="flink",
    absent="this figure does not run Flink",
    stand_in="a map stage and aggregates of this lab, in C++ (multicore/sn-map)",
)
FLINK_FORWARD = System(
    name="SN",
    source="STRETCH, section 8.2: operator 15, in Flink",
    algorithm="a copy of each tuple for each instance, whose outputs a downstream reader sorts",
    engine="flink",
    absent="Flink has no program of the forwarding operator here",
    stand_in="shared-nothing instances of this lab by algorithm 1, in C++ (multicore/sn)",
)
OPERATOR_10 = System(
    name="VSN",
    source="STRETCH, operator 10",
    algorithm="a join of stored tuples by f_MK, f_U and f_S, in a deque for each of 1,000 keys",
    variant=_VSN,
    options=STORED_TUPLES,
)
HEDGES = System(
    name="VSN",
    source="STRETCH, section 8.6",
    algorithm="a self-join of stored tuples by f_MK, f_U and f_S",
    variant=_VSN,
    options=STORED_TUPLES,
)
SCALE_JOIN = System(
    name="ad-hoc",
    source="STRETCH, section 8.3: ScaleJoin",
    algorithm="a hand-written band join, a tuple at a time, whose number of threads is fixed",
    variant="multicore/adhoc",
    options=TUPLE_BY_TUPLE,
)
ONE_THREAD = System(
    name="1T",
    source="STRETCH, section 8.3",
    algorithm="a hand-written band join, a tuple at a time, on one thread without a log",
    variant="multicore/1t",
    options=TUPLE_BY_TUPLE,
)
