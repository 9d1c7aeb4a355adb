"""Defines the relation of `nyse_hedge`: a join of tuples near in time, on a ratio (see the program)."""

from pyspark.sql import DataFrame

from streamlab.engines.spark.operators.band import near_join
from streamlab.engines.spark.operators.relation import Inputs, Relation

_NUM = "(cast(r_price as double) - r_average) * l_average"
_DEN = "(cast(l_price as double) - l_average) * r_average"
_OUTPUT = ["l_id", "l_price", "r_id", "r_price"]


def _hedges(inputs: Inputs) -> DataFrame:
    low, high = (f"{float(inputs.params[name])!r}D * {_DEN}" for name in ("lower", "upper"))
    match = (
        "l_id <> r_id and l_average <> 0"
        f" and (({_DEN} > 0 and {low} <= {_NUM} and {_NUM} <= {high})"
        f" or ({_DEN} < 0 and {high} <= {_NUM} and {_NUM} <= {low}))"
    )
    return near_join(inputs, match, _OUTPUT)


NYSE_HEDGE = Relation(build=_hedges, delay_ms=1, aligned=True)
