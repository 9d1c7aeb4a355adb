"""new_seg: forwards a position report whose segment is not that of the vehicle's last (Viper, 4.2).

A segment is an expressway, a direction and a number. A vehicle's first report is always forwarded;
requests are not, and change nothing.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.linear_road.schema import FIELDS, OUTPUT, RECORD, REPORT
from streamlab.workloads.model import Pipeline, partitioned

STATE = np.dtype([("seen", np.int8), ("xway", np.int16), ("dir", np.int8), ("seg", np.int8)])
"""Whether the vehicle has reported, and from where it last did."""


def vehicle(t: Any) -> Any:
    """Return the vehicle of a record."""
    return t.vid


def new_seg(s: Any, t: Any, out: Any) -> None:
    """Forward a position report from elsewhere than the last, and keep where it is from."""
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
