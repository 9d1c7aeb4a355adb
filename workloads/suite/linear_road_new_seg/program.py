"""Operator new_seg: forwards position reports of vehicles that enter a segment (Viper, 4.2).

A segment is an expressway, a direction and a number. A vehicle's first report is always forwarded.
Requests are ignored.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.linear_road.schema import FIELDS, OUTPUT, RECORD, REPORT
from streamlab.workloads.model import Pipeline, partitioned

STATE = np.dtype([("seen", np.int8), ("xway", np.int16), ("dir", np.int8), ("seg", np.int8)])
"""Whether the vehicle has reported, and the segment of its last report."""


def vehicle(t: Any) -> Any:
    """Return the vehicle of a record."""
    return t.vid


def new_seg(s: Any, t: Any, out: Any) -> None:
    """Forward a position report from another segment than the last report, and remember its segment."""
    if t.type != REPORT:
        return
    if s.seen == 0 or t.seg != s.seg or t.dir != s.dir or t.xway != s.xway:
        s.seen = 1
        s.xway = t.xway
        s.dir = t.dir
        s.seg = t.seg
        out.emit(t.type, t.vid, t.speed, t.xway, t.lane, t.dir, t.seg, t.pos)


PROGRAM = Pipeline(
    name="linear_road_new_seg",
    record=RECORD,
    event=FIELDS,
    stages=(partitioned(name="new_seg", output=OUTPUT, key=vehicle, state=STATE, apply=new_seg),),
)
