"""Converts raw counters to joules; corrects wrap-arounds and marks intervals that cannot be corrected.

All functions are pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamlab.lab.measure.energy.provider import Domain, Kind, Reading, kind_of

PLAUSIBLE_W = 5_000
"""Largest plausible power of one counter, ten times that of large sockets; more means that the counter was reset or
belongs to another host.

The smallest usual range, 65.5 kJ, lasts 13 s at this power, so two readings 0.1 s apart have at most one wrap-around.
"""
SLACK_S = 0.1
"""Counters refresh every millisecond, later under load, so a short interval may include the energy of a longer one."""

LONGEST_STANDSTILL_S = 0.15
"""A counter that advanced before and then stands still for longer has frozen.

While a part draws power, its counter advances every millisecond, or within 0.1 s under load.
At 10 readings a second, two equal readings in a row show a frozen counter.
The graphics part (uncore) may be off, so its standstill is valid.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One counter over time.

    Attributes:
        times_ns: int64[n], times of the successful readings, strictly increasing.
        joules: float64[n], joules since the first reading, never decreasing; lost intervals add nothing.
        lost: bool[n - 1], intervals between readings that could not be corrected.
        wrapped: bool[n - 1], intervals with a corrected wrap-around.
    """

    times_ns: NDArray[np.int64]
    joules: NDArray[np.float64]
    lost: NDArray[np.bool_]
    wrapped: NDArray[np.bool_]
    reasons: tuple[str, ...] = ()


def advance(before: int, after: int, *, range_uj: int | None, interval_s: float) -> int | str:
    """Return the advance between two readings in microjoules, or the reason why it is unknown.

    Corrects one wrap-around, with an error of one unit of the counter (at most 61 uJ). The advance is
    unknown in three cases:

    - The counter went backwards, and its range is unknown or was exceeded.
    - The power would exceed 5 kW.
    - The interval is long enough to hide a full round of the counter.
    """
    most_uj = PLAUSIBLE_W * (interval_s + SLACK_S) * 1e6
    if range_uj is not None and most_uj > range_uj:
        return f"{interval_s:.1f} s without a reading may hide a wrap"
    advance_uj = after - before
    if after < before:
        if range_uj is None:
            return "the counter went backwards and its range is unknown"
        if before > range_uj:
            return "the counter was above its range and went backwards"
        advance_uj += range_uj
    if advance_uj > most_uj:
        verb = "went backwards" if after < before else "jumped"
        return f"the counter {verb}, and no power explains it (a reset?)"
    return advance_uj


def track(domain: Domain, readings: Iterable[Reading]) -> Track:
    """Return the track of one counter over all readings.

    Skips failed readings: the counter keeps counting, so the next reading covers the gap unless it is too long.
    """
    times: list[int] = []
    joules: list[float] = []
    lost: list[bool] = []
    wrapped: list[bool] = []
    reasons: dict[str, None] = {}
    last_counter = 0
    total_uj = 0
    gap = False
    for reading in readings:
        gap = gap or domain.name in reading.gaps
        counter = reading.counters_uj.get(domain.name)
        if counter is None:
            reasons[reading.failed.get(domain.name, "no value")] = None
            continue
        if times:
            if reading.time_ns <= times[-1]:
                continue
            step: int | str = "the counter did not run all the time"
            if not gap:
                interval_s = (reading.time_ns - times[-1]) / 1e9
                step = advance(
                    last_counter, counter, range_uj=domain.range_uj, interval_s=interval_s
                )
            if isinstance(step, int):
                total_uj += step
            else:
                reasons[step] = None
            lost.append(isinstance(step, str))
            wrapped.append(isinstance(step, int) and counter < last_counter)
        times.append(reading.time_ns)
        joules.append(total_uj / 1e6)
        last_counter = counter
        gap = False
    times_ns, is_lost = np.array(times, np.int64), np.array(lost, np.bool_)
    frozen = _find_frozen(times_ns, np.array(joules), is_lost)
    if kind_of(domain.name) is not Kind.UNCORE and frozen.any():
        reasons[f"the counter stood still for more than {LONGEST_STANDSTILL_S:g} s"] = None
        is_lost |= frozen
    return Track(
        times_ns=times_ns,
        joules=np.array(joules, np.float64),
        lost=is_lost,
        wrapped=np.array(wrapped, np.bool_),
        reasons=tuple(reasons),
    )


def _find_frozen(
    times_ns: NDArray[np.int64], joules: NDArray[np.float64], lost: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the intervals of standstills; all False if the counter never advanced."""
    is_still = (np.diff(joules) == 0) & ~lost
    if is_still.all():
        return np.zeros(len(is_still), np.bool_)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_still, [False]]).astype(np.int8)))
    frozen = np.zeros(len(is_still), np.bool_)
    for begin, end in edges.reshape(-1, 2):
        if times_ns[end] - times_ns[begin] > LONGEST_STANDSTILL_S * 1e9:
            frozen[begin:end] = True
    return frozen


def joules_at(track: Track, times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the joules at `times_ns`, interpolated; constant before the first and after the last reading."""
    if len(track.times_ns) == 0:
        return np.zeros(len(times_ns))
    # Count times from the first reading, so that float64 resolves nanoseconds.
    first_ns = track.times_ns[0]
    joules: NDArray[np.float64] = np.interp(
        times_ns - first_ns, track.times_ns - first_ns, track.joules
    )
    return joules


def joules_between(track: Track, start_ns: int, end_ns: int) -> float:
    """Return the joules between two times, without lost intervals."""
    start_j, end_j = joules_at(track, np.array([start_ns, end_ns], np.int64))
    return float(end_j - start_j)


def lost_spans(track: Track, start_ns: int, end_ns: int) -> list[tuple[int, int]]:
    """Return the parts of a window without counts, in ns.

    Lost intervals have no counts, nor has the time before the first and after the last reading.
    """
    times = track.times_ns
    if len(times) == 0:
        return [(start_ns, end_ns)]
    spans = [(start_ns, int(times[0])), (int(times[-1]), end_ns)]
    spans += [(int(times[i]), int(times[i + 1])) for i in np.flatnonzero(track.lost)]
    clipped = [(max(begin, start_ns), min(end, end_ns)) for begin, end in spans]
    return sorted((begin, end) for begin, end in clipped if begin < end)


def union_s(spans: Sequence[tuple[int, int]]) -> float:
    """Return the length in seconds of the union of spans in nanoseconds."""
    total = 0
    covered_until_ns: int | None = None
    for begin, end in sorted(spans):
        if covered_until_ns is None or begin > covered_until_ns:
            covered_until_ns = begin
        if end > covered_until_ns:
            total += end - covered_until_ns
            covered_until_ns = end
    return total / 1e9


def wraps_between(track: Track, start_ns: int, end_ns: int) -> int:
    """Return the number of corrected wrap-arounds in intervals that touch the window."""
    if len(track.times_ns) < 2:
        return 0
    touches = (track.times_ns[1:] > start_ns) & (track.times_ns[:-1] < end_ns)
    return int(np.count_nonzero(track.wrapped & touches))
