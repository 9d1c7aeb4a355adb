"""Computes the expected tolls from sums by segment and minute, and from sets of stopped vehicles."""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.linear_road.schema import EXIT_LANE, FIELDS, REPORT, SEGMENTS
from streamlab.workloads.model import Columns, Input

Ints = npt.NDArray[np.int64]

_PLACE = ("xway", "dir", "seg")
_FREE, _FAST, _STOPPED, _MINUTES, _AFTER = 50, 40, 4, 5, 4
_PERIOD_MS, _MINUTE_MS = 30_000, 60_000


def oracle(data: Input) -> Columns:
    """Return a row for each vehicle that enters a segment, except by the exit lane; it has the columns of `OUTPUT`."""
    records = total_order(data, FIELDS)
    reports = np.flatnonzero(np.equal(records.payload["type"], REPORT))
    column = {name: records.payload[name][reports].astype(np.int64) for name in FIELDS.names or ()}
    ts = records.ts[reports]
    minute = ts // _MINUTE_MS
    enters, first, stopped = _by_vehicle(column, minute)
    accidents = _accidents(column, ts, stopped)
    place = np.column_stack([column[name] for name in _PLACE])
    table = _Table(place, minute, first, column["speed"])
    rows = np.flatnonzero(enters & (column["lane"] != EXIT_LANE))
    vehicles, _, _ = table.look_up(rows, 1)
    spans = [table.look_up(rows, minutes)[1:] for minutes in range(1, _MINUTES + 1)]
    count, speed = (sum(parts) for parts in zip(*spans, strict=True))
    mean = np.asarray(speed) // np.maximum(count, 1)
    segments = zip(*(column[name][rows].tolist() for name in _PLACE), strict=True)
    accident = np.array(
        [
            (*segment, row_minute - 1) in accidents
            for segment, row_minute in zip(segments, minute[rows].tolist(), strict=True)
        ],
        dtype=np.bool_,
    )
    charged = (vehicles > _FREE) & (mean < _FAST) & ~accident
    return {
        "ts": ts[rows],
        "vid": records.payload["vid"][reports][rows],
        **{name: records.payload[name][reports][rows] for name in _PLACE},
        "vehicles": vehicles.astype(np.int32),
        "speed": mean.astype(np.int16),
        "accident": accident.astype(np.int8),
        "toll": np.where(charged, 2 * (vehicles - _FREE) ** 2, 0),
    }


class _Table:
    """Numbers of vehicles and reports, and sums of speeds, by segment and minute."""

    def __init__(
        self, place: Ints, minute: Ints, first: npt.NDArray[np.bool_], speed: Ints
    ) -> None:
        _, segment = np.unique(place, axis=0, return_inverse=True)
        # Minutes before the input's first minute have a separate number in each segment.
        begin = int(minute.min(initial=0)) - _MINUTES
        self._key = segment.reshape(-1) * (int(minute.max(initial=0)) - begin + 1) + minute - begin
        self._keys, index = np.unique(self._key, return_inverse=True)
        size = len(self._keys)
        self._sums = tuple(
            np.bincount(index.reshape(-1), weights, size).astype(np.int64)
            for weights in (first.astype(np.float64), None, speed.astype(np.float64))
        )

    def look_up(self, rows: Ints, minutes_back: int) -> tuple[Ints, Ints, Ints]:
        """Return vehicles, reports and sums of speeds in each row's segment, `minutes_back` before the row's minute."""
        if not len(rows):
            return rows, rows, rows
        key = self._key[rows] - minutes_back
        index = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        is_present = self._keys[index] == key
        vehicles, reports, speed = (np.where(is_present, sums[index], 0) for sums in self._sums)
        return vehicles, reports, speed


def _by_vehicle(
    column: dict[str, Ints], minute: Ints
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return three masks of reports: on entry to a segment, first there in a minute, and of a stopped vehicle."""
    order = np.argsort(column["vid"], kind="stable")

    def equals_previous(*columns: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        equal = np.zeros(len(order), dtype=np.bool_)
        sides = [values[order] for values in columns]
        equal[1:] = np.logical_and.reduce([side[1:] == side[:-1] for side in sides])
        return equal

    road = column["vid"], column["xway"], column["dir"]
    stays = equals_previous(*road, column["seg"])
    first = ~(stays & equals_previous(column["vid"], minute))
    stays_at_position = equals_previous(*road, column["pos"])
    index = np.arange(len(order))
    first_index = np.maximum.accumulate(np.where(stays_at_position, 0, index))
    stopped = index - first_index + 1 >= _STOPPED
    place = np.empty_like(order)
    place[order] = index
    return ~stays[place], first[place], stopped[place]


def _accidents(
    column: dict[str, Ints], ts: Ints, stopped: npt.NDArray[np.bool_]
) -> set[tuple[int, int, int, int]]:
    """Return the expressway, direction, segment and minute of all accidents and the segments before them."""
    standing = defaultdict(set)
    rows = np.flatnonzero(stopped).tolist()
    spots = [tuple(int(column[name][row]) for name in ("xway", "dir", "pos")) for row in rows]
    for row, spot in zip(rows, spots, strict=True):
        standing[spot, int(ts[row]) // _PERIOD_MS].add(int(column["vid"][row]))
    accidents = set()
    for row, spot in zip(rows, spots, strict=True):
        stopped_before = standing.get((spot, int(ts[row]) // _PERIOD_MS - 1), set())
        if not stopped_before - {int(column["vid"][row])}:
            continue
        xway, direction, seg = (int(column[name][row]) for name in _PLACE)
        for steps in range(_AFTER + 1):
            accident_seg = seg + (-steps if direction == 0 else steps)
            if steps == 0 or 0 <= accident_seg < SEGMENTS:
                accidents.add((xway, direction, accident_seg, int(ts[row]) // _MINUTE_MS))
    return accidents
