"""Generates calls between phones that move, some of which are cloned.

- A phone goes back and forth on a line of up to 14 km in 2 hours, so at 4 m/s at most. Each phone has its own phase.
- A cloned phone has a second location, which makes or takes half of its calls.
- Caller and callee are uniform; the area code is the caller's number modulo `areas`.
- Calls are evenly spaced in time and assigned to the streams in turn.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import numbered_specs, rows_of, tuples_of
from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import below, draw_at
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec
from streamlab.workloads.suite.high_mobility_fraud.schema import CALL, KIND

__all__ = ["PARAMETERS", "generate", "keys", "streams"]

Ints = npt.NDArray[np.int64]

MAP_METRES = 1_000_000
"""Phones live in a square of this side."""
PATH_METRES = 10_000
"""Largest length of a phone's line in each direction of the map."""
ROUND_TRIP_MS = 7_200_000
MAX_DURATION_S = 600
"""Longest duration of a call."""

_CALLER, _CALLEE, _DURATION, _CALLER_CLONE, _CALLEE_CLONE = range(5)
"""Lanes of random numbers by call."""
_X, _Y, _PATH_X, _PATH_Y, _PHASE = range(5, 10)
"""Lanes of random numbers by phone."""
_CLONES = 5
"""Added to a phone's lanes for its clone."""
_CALLS = 0  # stream of random numbers for all rows, so calls do not depend on the number of streams

PARAMETERS = {
    "phones": Parameter(default=100_000, help="number of phones", minimum=2, maximum=10**9),
    "areas": Parameter(default=10, help="number of area codes", minimum=1, maximum=30_000),
    "cloned_per_1000": Parameter(
        default=10, help="phones that are cloned, of 1,000", minimum=0, maximum=1000
    ),
    "calls_per_s": Parameter(
        default=1_000, help="calls in a second of event time", minimum=1, maximum=10**9
    ),
    "streams": streams_parameter("calls"),
}


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` calls in all."""
    count = int(params["streams"])
    rows = (rows_of(events, index, count) for index in range(count))
    return numbered_specs(KIND, KIND, CALL, rows)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of a stream."""
    call = tuples_of(begin, end, index, int(params["streams"]))
    ts = call * 1000 // int(params["calls_per_s"])
    phones = int(params["phones"])
    caller = below(draw_at(seed, _CALLS, _CALLER, call), phones)
    other = below(draw_at(seed, _CALLS, _CALLEE, call), phones - 1)
    callee = (caller + 1 + other) % phones  # No phone calls itself.
    cloned = int(params["cloned_per_1000"])
    places: Columns = {}
    for name, phone, lane in (("caller", caller, _CALLER_CLONE), ("callee", callee, _CALLEE_CLONE)):
        uses_clone = (phone % 1000 < cloned) & (below(draw_at(seed, _CALLS, lane, call), 2) == 1)
        x, y = _position(seed, phone, ts, uses_clone * _CLONES)
        places |= {name: phone.astype(np.int32), f"{name}_x": x, f"{name}_y": y}
    duration = 1 + below(draw_at(seed, _CALLS, _DURATION, call), MAX_DURATION_S)
    return {
        "ts": ts,
        "duration_s": duration.astype(np.int32),
        "area": (caller % int(params["areas"])).astype(np.int16),
        **places,
    }


def _position(
    seed: int, phone: Ints, ts: Ints, clone: Ints
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the positions of phones or their clones at a time, in metres; `clone` is 0 or `_CLONES`."""

    def draw_below(lane: int, limit: int) -> Ints:
        phone_bits = draw_at(seed, _CALLS, lane, phone)
        clone_bits = draw_at(seed, _CALLS, lane + _CLONES, phone)
        return below(np.where(clone == 0, phone_bits, clone_bits), limit)

    half = ROUND_TRIP_MS // 2
    phase = (ts + draw_below(_PHASE, ROUND_TRIP_MS)) % ROUND_TRIP_MS
    progress_ms: Ints = half - np.abs(phase - half)

    def coordinate(lane: int, path: int) -> npt.NDArray[np.int32]:
        place: Ints = (
            draw_below(lane, MAP_METRES) + draw_below(path, PATH_METRES) * progress_ms // half
        )
        return place.astype(np.int32)

    return coordinate(_X, _PATH_X), coordinate(_Y, _PATH_Y)
