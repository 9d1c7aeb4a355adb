"""High-mobility fraud as a pipeline: calls -> SL area -> SL places -> PS speed -> SL fast -> SF count.

SL is a stateless operator, PS a partitioned one (a state for each key), SF a stateful one (one state).

- `in_area` selects the calls from an area code.
- `places` projects a call to the caller's and the callee's place and time.
- `speed`, by phone, computes the speed at which its user travelled since the phone's previous place.
- `fast` selects speeds above a limit.
- `count` counts these cases in windows of event time. The first case of a later window ends a window,
  and only windows with cases are forwarded.
"""

from typing import Any

import numpy as np

from streamlab.workloads.model import Pipeline, partitioned, stateful, stateless
from streamlab.workloads.suite.high_mobility_fraud.schema import CALL, KIND, speed_mps

PLACES = np.dtype(
    [
        ("ts", np.int64),
        ("caller", np.int32),
        ("caller_x", np.int32),
        ("caller_y", np.int32),
        ("callee", np.int32),
        ("callee_x", np.int32),
        ("callee_y", np.int32),
    ]
)
PLACE = np.dtype([("ts", np.int64), ("phone", np.int32), ("x", np.int32), ("y", np.int32)])
SPEED = np.dtype([("ts", np.int64), ("phone", np.int32), ("mps", np.float64)])
CASE = np.dtype([("ts", np.int64), ("phone", np.int32)])
OUTPUT = np.dtype([("ts", np.int64), ("begin", np.int64), ("cases", np.int64)])
_LAST = np.dtype([("seen", np.int8), ("ts", np.int64), ("x", np.int32), ("y", np.int32)])
_WINDOW = np.dtype([("begin", np.int64), ("cases", np.int64)])


def program(area: int, most_mps: float, window_ms: int) -> Pipeline:
    """Return the pipeline for an area code, a limit of speed in m/s and a window in ms."""

    def in_area(t: Any, out: Any) -> None:
        if t.area == area:
            out.emit(t.caller, t.caller_x, t.caller_y, t.callee, t.callee_x, t.callee_y)

    def fast(t: Any, out: Any) -> None:
        if t.mps > most_mps:
            out.emit(t.phone)

    def count(s: Any, t: Any, out: Any) -> None:
        begin = t.ts - t.ts % window_ms
        if s.cases > 0 and begin != s.begin:
            out.emit(s.begin, s.cases)
            s.cases = 0
        s.begin = begin
        s.cases += 1

    return Pipeline(
        name="high_mobility_fraud",
        record=KIND,
        event=CALL,
        stages=(
            stateless(name="in_area", output=PLACES, apply=in_area),
            stateless(name="places", output=PLACE, apply=_places, max_outputs=2),
            partitioned(name="speed", output=SPEED, key=_phone, state=_LAST, apply=_speed),
            stateless(name="fast", output=CASE, apply=fast),
            stateful(name="count", output=OUTPUT, state=_WINDOW, apply=count),
        ),
    )


def _places(t: Any, out: Any) -> None:
    out.emit(t.caller, t.caller_x, t.caller_y)
    out.emit(t.callee, t.callee_x, t.callee_y)


def _phone(t: Any) -> Any:
    return t.phone


def _speed(s: Any, t: Any, out: Any) -> None:
    if s.seen == 1:
        out.emit(t.phone, speed_mps(t.x - s.x, t.y - s.y, t.ts - s.ts))
    s.seen = 1
    s.ts = t.ts
    s.x = t.x
    s.y = t.y
