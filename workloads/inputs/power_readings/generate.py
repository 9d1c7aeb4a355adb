"""Generates readings of plugs, about one every `period_s` each, with gaps and some ties.

Row i of a stream depends only on the seed, the stream and i. The plugs of a stream (`plug` modulo
the number of streams) take turns: turn k lasts from k to k + 1 times `period_s`, with its slots
spread evenly over it. The plug of the first slot is drawn for each turn, so two readings of a plug
are 0 to 2 periods apart, one on average.

- Time is divided into pieces of `gap_s`. In each piece a plug is silent with probability `gaps`.
  Its slot goes to the next plug that is not silent, which may then have two readings in one second.
  In every piece one plug of each stream is never silent.
- Plug p has device type p modulo `device_types`. The rated power of a type is between 5 and
  2,600 W, uniform on a logarithmic scale.
- A plug is on or off for whole cycles. Its cycle length is 2 to 30 minutes. It is on with
  probability 1/8 before 6 a.m. and 1/2 otherwise. It draws its rated power within 10 % when on, and
  0 to 2 W when off.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import numbered_specs, one_key, rows_of, typed_columns
from streamlab.workloads.datasets.random import below, draw_at
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.inputs.power_readings.schema import (
    DEVICE_TYPES,
    FIELDS,
    PLUGS_PER_UNIT,
    READING,
    SECONDS_A_DAY,
    UNITS_PER_BUILDING,
)
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec

IntArray = npt.NDArray[np.int64]

_ALL = 0  # stream of random numbers for all plugs, so loads do not depend on the number of streams
(_FIRST, _SILENT, _RATED, _CYCLE, _PHASE, _ON, _LEVEL) = range(7)  # lanes of random numbers

_SHORTEST_CYCLE_S, _CYCLES_S = 120, 1681
"""Length of the shortest cycle, and number of lengths: 2 to 30 minutes in steps of 1 s."""
_DAWN_S = 6 * 3600
_ON_AT_NIGHT, _ON_BY_DAY = 2, 8
"""Probability of being on, in sixteenths."""

_OCTAVES, _STEPS = 9, 16
"""Rated powers are 5 W times a power of two, in steps of a sixteenth: 5 to 2,560 W."""
_RATED_W = np.round(5 * 2.0 ** (np.arange(_OCTAVES * _STEPS + 1) / _STEPS)).astype(np.int64)

PARAMETERS = {
    "plugs": Parameter(default=1000, help="number of plugs", minimum=1, maximum=10**7),
    "device_types": Parameter(
        default=DEVICE_TYPES, help="types of devices", minimum=1, maximum=2**15
    ),
    "streams": streams_parameter("plugs", 2),
    "period_s": Parameter(
        default=2, help="mean time between two readings of a plug", minimum=1, maximum=3600
    ),
    "gaps": Parameter(
        default=0.02, help="share of the time in which a plug is silent", minimum=0.0, maximum=0.9
    ),
    "gap_s": Parameter(
        default=30, help="length of a silence, which may be repeated", minimum=1,
        maximum=SECONDS_A_DAY,
    ),
}  # fmt: skip

keys = one_key


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` readings in all.

    Raises:
        ModelError: more streams than plugs.
    """
    plugs, count = int(params["plugs"]), int(params["streams"])
    if count > plugs:
        raise ModelError(
            f"power_readings: {count} streams for {plugs} plugs; give at most one stream a plug"
        )
    turns, rest = divmod(events, plugs)
    rows = (
        turns * rows_of(plugs, index, count) + rows_of(rest, index, count) for index in range(count)
    )
    return numbered_specs("reading", READING, FIELDS, rows)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    count = int(params["streams"])
    plugs = rows_of(int(params["plugs"]), index, count)
    drawn = loads(params, seed, index, begin, end, plugs=plugs, plug_of=lambda n: n * count + index)
    unit = drawn.plug // PLUGS_PER_UNIT
    columns = {
        "plug": drawn.plug,
        "device": drawn.device,
        "unit": unit,
        "building": unit // UNITS_PER_BUILDING,
        "watts": drawn.watts,
    }
    return {"ts": drawn.ts, **typed_columns(columns, FIELDS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """Some rows of a stream: event time, plug, type of device and watts."""

    ts: IntArray
    plug: IntArray
    device: IntArray
    watts: IntArray


def loads(
    params: Params,
    seed: int,
    index: int,
    begin: int,
    end: int,
    *,
    plugs: int,
    plug_of: Callable[[IntArray], IntArray],
) -> Loads:
    """Return rows [begin, end) of stream `index`, which has `plugs` plugs.

    `plug_of` maps numbers of plugs within the stream to numbers among all plugs.
    """
    period = int(params["period_s"])
    turn, slot = np.divmod(np.arange(begin, end, dtype=np.int64), plugs)
    ts = turn * period + slot * period // plugs
    first = below(draw_at(seed, index, _FIRST, turn), plugs)
    piece = ts // int(params["gap_s"])
    plug = plug_of(_skip_silent(params, seed, index, (slot + first) % plugs, piece, plugs))
    device = plug % int(params["device_types"])
    watts = _watts(seed, index, np.arange(begin, end), ts, plug, device)
    return Loads(ts=ts, plug=plug, device=device, watts=watts)


def _skip_silent(
    params: Params, seed: int, index: int, plug: IntArray, piece: IntArray, plugs: int
) -> IntArray:
    """Replace, in place, each silent plug (numbered within the stream) by the next one that is not silent."""
    limit = np.uint64(round(float(params["gaps"]) * 2**32))
    always = piece % plugs
    waiting = np.arange(len(plug))
    while len(waiting):
        candidate, candidate_piece = plug[waiting], piece[waiting]
        bits = draw_at(seed, index, _SILENT, candidate_piece * plugs + candidate) >> np.uint64(32)
        waiting = waiting[(bits < limit) & (candidate != always[waiting])]
        plug[waiting] = (plug[waiting] + 1) % plugs
    return plug


def _watts(
    seed: int, index: int, row: IntArray, ts: IntArray, plug: IntArray, device: IntArray
) -> IntArray:
    """Return the watts that devices draw."""
    rated = _RATED_W[below(draw_at(seed, _ALL, _RATED, device), len(_RATED_W))]
    cycle_s = _SHORTEST_CYCLE_S + below(draw_at(seed, _ALL, _CYCLE, plug), _CYCLES_S)
    cycle = (ts + below(draw_at(seed, _ALL, _PHASE, plug), SECONDS_A_DAY)) // cycle_s
    on_sixteenths = np.where(ts % SECONDS_A_DAY < _DAWN_S, _ON_AT_NIGHT, _ON_BY_DAY)
    # Numbers are unique for up to 2^31 plugs and 2^31 cycles of a plug.
    is_on = below(draw_at(seed, _ALL, _ON, plug * 2**31 + cycle), 16) < on_sixteenths
    level = below(draw_at(seed, index, _LEVEL, row), 21)
    return np.where(is_on, rated * (90 + level) // 100, level % 3)
