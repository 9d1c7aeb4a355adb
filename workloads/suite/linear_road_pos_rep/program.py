"""Operator pos_rep: forwards position reports, without state (Viper, 4.1)."""

from typing import Any

from streamlab.workloads.inputs.linear_road.schema import FIELDS, OUTPUT, RECORD, REPORT
from streamlab.workloads.model import Pipeline, stateless


def pos_rep(t: Any, out: Any) -> None:
    """Forward a position report unchanged."""
    if t.type == REPORT:
        out.emit(t.type, t.vid, t.speed, t.xway, t.lane, t.dir, t.seg, t.pos)


PROGRAM = Pipeline(
    name="linear_road_pos_rep",
    record=RECORD,
    event=FIELDS,
    stages=(stateless(name="pos_rep", output=OUTPUT, apply=pos_rep),),
)
