"""Defines the relation of `forward`: a flatMap of the union of both inputs."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.operators.relation import Inputs, Relation


def _copies(inputs: Inputs) -> DataFrame:
    tuples = reduce(DataFrame.unionByName, inputs.kinds.values())
    copies = F.explode(F.expr(f"sequence(1, {inputs.params['copies']})"))
    return tuples.select((F.col("ts") + 1).alias("ts"), "id", "value", "src", copies).drop("col")


FORWARD = Relation(build=_copies, delay_ms=None)
