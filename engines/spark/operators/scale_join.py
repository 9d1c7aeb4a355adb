"""Defines the relation of `scale_join`: a join of tuples near in time, on bands of both attributes."""

from pyspark.sql import DataFrame

from streamlab.engines.spark.operators.band import Bins, near_join
from streamlab.engines.spark.operators.relation import Inputs, Relation
from streamlab.workloads.suite.scale_join.program import BAND

_MATCH = f"abs(l_x - r_a) <= {BAND} and abs(l_y - r_b) <= {BAND}"
_OUTPUT = ["l_x as x", "l_y as y", "r_a as a", "r_b as b", "r_c as c", "r_d as d"]
_BIN = f"cast(floor({{}} / {BAND}) as int)"
"""A bin is as wide as the band, so that a partner is in the same bin or in a neighbouring bin."""
_BINS = Bins(
    left=_BIN.format("l_x"),
    right=f"sequence({_BIN.format('r_a')} - 1, {_BIN.format('r_a')} + 1)",
)


def _pairs(inputs: Inputs) -> DataFrame:
    return near_join(inputs, _MATCH, _OUTPUT, _BINS if inputs.form == "bins" else None)


# A watermark 1 ms behind: a join drops tuples that are not later, and ties may continue in the next file.
SCALE_JOIN = Relation(build=_pairs, delay_ms=1, aligned=True)
