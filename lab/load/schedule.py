"""Schedules an offered load for a dataset: its events, their due times, and the heartbeats.

Due times increase along the total order of the input (event time, stream, position), across streams.
The input is truncated at the event time at which the load ends.
Events with equal times stay together, so a few may be due after the end.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import OfferedLoad
from streamlab.lab.errors import LoadError
from streamlab.lab.load.arrivals import (
    NS_PER_S,
    due_times,
    expected_events,
    feasible_eps,
    load_end_ns,
    parameters,
    replay_times,
)
from streamlab.lab.load.spec import REPLAY, SHORTEST_HEARTBEAT_MS, LoadSpec
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.time_cutoff import event_times, truncate
from streamlab.workloads.model import DGSProgram
from streamlab.workloads.model.dgs.optimizer import synchronizing_events
from streamlab.workloads.model.dgs.stream_profile import profile

IntArray = npt.NDArray[np.int64]

_NEVER = np.iinfo(np.int64).max

_ROUNDING = 0.01
"""Tolerance for the shortest period, as a share: a load ends slightly before its last whole gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A load, and a dataset truncated to the load's length."""

    dataset: Dataset
    load: OfferedLoad


def offer(spec: LoadSpec, dataset: Dataset, *, grid: int = 1, program: object = None) -> Offer:
    """Return the load of a specification on a dataset; the result is equal on every machine.

    Reads only the timestamps of the complete dataset, unless the load has heartbeats per barrier.
    The input is truncated at an event time, a multiple of `grid` (`OutputType.grid`), so the load may end earlier.
    The workload's program defines the synchronizing events for heartbeats per barrier.

    Raises:
        LoadError: the input is too short for the load, the load has no event, or no event synchronizes although
            the load has heartbeats per barrier.
        DatasetError: a file is missing or damaged.
    """
    times = event_times(dataset)
    if sum(len(ts) for ts in times) == 0:
        raise LoadError(
            f"dataset {dataset.id[:16]} has no events, so no load can be offered; use another dataset"
        )
    make = _replay if spec.arrival == REPLAY else _schedule_at_rate
    schedule = make(spec, times)
    if grid > 1:
        schedule = _align(schedule, grid)
    due = schedule.due_ns
    last_ns = max(int(stream[-1]) for stream in due if len(stream))
    truncated = truncate(dataset, times, schedule.until_ts)
    beats = _heartbeats(schedule.ts, due, last_ns, _period_ns(spec, truncated, program, last_ns))
    return Offer(
        dataset=truncated,
        load=OfferedLoad(
            due_ns=due,
            heartbeat_ts=tuple(ts for ts, _ in beats),
            heartbeat_due_ns=tuple(due_ns for _, due_ns in beats),
            warm_up_ns=round(spec.warm_up_s * NS_PER_S),
            end_ns=max(load_end_ns(spec), last_ns),
            batching=spec.batching,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Schedule:
    """Event times and due times, by stream, of the events before `until_ts`."""

    ts: tuple[IntArray, ...]
    due_ns: tuple[IntArray, ...]
    until_ts: int


def _schedule_at_rate(spec: LoadSpec, times: Sequence[IntArray]) -> _Schedule:
    """Return the schedule of a load with a rate."""
    events = sum(len(ts) for ts in times)
    end_ns = load_end_ns(spec)
    # Sum the mean, five standard deviations of a Poisson count, and a margin for small counts.
    likely_count = int(expected_events(spec) + 5 * expected_events(spec) ** 0.5 + 16)
    count = min(likely_count, events + 1)
    due = due_times(spec, count)
    while due[-1] < end_ns and count <= events:
        count = min(2 * count, events + 1)
        due = due_times(spec, count)
    due_count = int(np.searchsorted(due, end_ns, side="left"))
    if due_count > events:
        raise _too_short(spec, events)
    if due_count == 0:
        raise LoadError(
            f"arrival {spec.arrival}: no event is due within {end_ns / NS_PER_S:g} s at "
            f"{spec.rate_eps:g} events/s; raise rate_eps or window_s"
        )
    last_ts = _time_of(times, due_count - 1)
    event_ts = _take_until(times, last_ts + 1)
    total = sum(len(ts) for ts in event_ts)
    if total > count:
        due = due_times(spec, total)
    return _Schedule(ts=event_ts, due_ns=_spread(event_ts, due[:total]), until_ts=last_ts + 1)


def _replay(spec: LoadSpec, times: Sequence[IntArray]) -> _Schedule:
    """Return the schedule of a recorded arrival process."""
    params = parameters(spec)
    first_ts, input_end_ts = _bounds(times)
    end_ns = load_end_ns(spec)
    ns_per_tick = params["tick_ns"] / params["speed_up"]
    # The last event adds a mean gap, just as every other event adds the gap that follows.
    events = sum(len(ts) for ts in times)
    input_ns = (input_end_ts - first_ts) * ns_per_tick * events / max(1, events - 1)
    if input_ns < end_ns:
        raise LoadError(
            f"replay: the input lasts {input_ns / NS_PER_S:g} s at speed_up = "
            f"{params['speed_up']:g} and tick_ns = {params['tick_ns']:g}, but warm_up_s + window_s "
            f"is {end_ns / NS_PER_S:g} s; lower speed_up, shorten window_s, or use a longer input"
        )
    # Exclude an event exactly at the end.
    last_ts = min(input_end_ts, first_ts + int(np.ceil(end_ns / ns_per_tick)) - 1)
    event_ts = _take_until(times, last_ts + 1)
    sorted_ts = np.sort(np.concatenate(event_ts), kind="stable")
    return _Schedule(
        ts=event_ts, due_ns=_spread(event_ts, replay_times(spec, sorted_ts)), until_ts=last_ts + 1
    )


def _align(schedule: _Schedule, grid: int) -> _Schedule:
    """Return the schedule without the events at or after the last multiple of `grid`."""
    until_ts = schedule.until_ts // grid * grid
    event_ts = _take_until(schedule.ts, until_ts)
    if not any(map(len, event_ts)):
        raise LoadError(
            f"this workload's input must end at a multiple of {grid} in event time, but the load has no "
            "events before its last such time; make the load longer, or raise its rate"
        )
    due = tuple(due[: len(ts)] for due, ts in zip(schedule.due_ns, event_ts, strict=True))
    return _Schedule(ts=event_ts, due_ns=due, until_ts=until_ts)


def _too_short(spec: LoadSpec, events: int) -> LoadError:
    feasible = feasible_eps(spec, events)
    digits = 10 ** (5 - math.floor(math.log10(feasible)))
    rounded_eps = math.floor(feasible * digits) / digits  # rounding up would exceed the limit
    seconds = spec.warm_up_s + spec.window_s
    return LoadError(
        f"{spec.arrival} arrivals at {spec.rate_eps:g} events/s for {seconds:g} s (warm_up_s + "
        f"window_s) need about {expected_events(spec):,.0f} events, the input has {events:,}; "
        f"use more `events`, a rate_eps of at most {rounded_eps:,.10g}, or a shorter window_s",
        feasible_eps=feasible,
    )


def _time_of(times: Sequence[IntArray], rank: int) -> int:
    """Return the event time of the event with this rank in the total order, from 0."""
    low, high = _bounds(times)
    while low < high:  # find the first time with more than `rank` events at or before it
        middle = (low + high) // 2
        if sum(int(np.searchsorted(ts, middle, side="right")) for ts in times) > rank:
            high = middle
        else:
            low = middle + 1
    return low


def _take_until(times: Sequence[IntArray], until_ts: int) -> tuple[IntArray, ...]:
    return tuple(ts[: int(np.searchsorted(ts, until_ts, side="left"))] for ts in times)


def _spread(times: Sequence[IntArray], due: IntArray) -> tuple[IntArray, ...]:
    """Distribute due times, which are in total order, to the events of the streams."""
    # Streams are concatenated, so a stable sort keeps (stream, position) among equal times.
    # The sort merges sorted runs: 0.32 s for three streams with 10 M events, against 0.38 s for
    # searching each stream for the events of the other streams.
    order = np.argsort(np.concatenate(times), kind="stable")
    by_row = np.empty_like(due)
    by_row[order] = due
    return tuple(
        np.ascontiguousarray(part)
        for part in np.split(by_row, np.cumsum([len(ts) for ts in times])[:-1])
    )


def _period_ns(spec: LoadSpec, truncated: Dataset, program: object, last_ns: int) -> int:
    """Return the period of heartbeats, in ns, on a dataset truncated to the load."""
    per_barrier = spec.heartbeats_per_barrier
    if per_barrier is None:
        return max(1, round(spec.heartbeat_ms * 1e6))
    if not isinstance(program, DGSProgram):
        raise LoadError(
            f"heartbeats_per_barrier = {per_barrier:g} needs synchronizing events, but this workload "
            "is not a DGS program and has none; use heartbeat_ms"
        )
    barriers = synchronizing_events(program, profile(truncated.load()))
    if barriers == 0:
        raise LoadError(
            f"heartbeats_per_barrier = {per_barrier:g} needs synchronizing events, but none of the "
            f"{truncated.events:,} events of this load synchronizes; offer more events, or use heartbeat_ms"
        )
    period_ms = last_ns / barriers / per_barrier / 1e6
    if period_ms < SHORTEST_HEARTBEAT_MS * (1 - _ROUNDING):
        raise LoadError(
            f"heartbeats_per_barrier = {per_barrier:g} means a heartbeat every {period_ms:.3g} ms with "
            f"{barriers:,} synchronizing events in {last_ns / NS_PER_S:.3g} s; expected at least "
            f"{SHORTEST_HEARTBEAT_MS:g} ms: lower heartbeats_per_barrier or rate_eps"
        )
    return max(1, round(period_ms * 1e6))


def _heartbeats(
    times: Sequence[IntArray], due: Sequence[IntArray], last_ns: int, period_ns: int
) -> list[tuple[IntArray, IntArray]]:
    """Return the heartbeats of each stream: their event times and due times.

    A heartbeat moves the frontier to one tick before the next event of any stream that is not due yet.
    The last heartbeat is due with the last event, and moves the frontier to that event's time.
    A stream gets only heartbeats that advance its frontier.
    """
    beats_ns = np.append(
        np.arange(period_ns, last_ns, period_ns, dtype=np.int64), np.int64(last_ns)
    )
    next_ts = np.full(len(beats_ns), _NEVER, dtype=np.int64)
    last_due_ts = []  # by stream: at each heartbeat, the time of the stream's last due event
    for ts, due_ns in zip(times, due, strict=True):
        due_counts = np.searchsorted(due_ns, beats_ns, side="right")
        next_ts = np.minimum(next_ts, np.append(ts, _NEVER)[due_counts])
        last_due_ts.append(np.append(np.iinfo(np.int64).min, ts)[due_counts])
    first_ts, last_ts = _bounds(times)
    frontier = np.where(next_ts == _NEVER, last_ts, next_ts - 1)
    advances = np.diff(frontier, prepend=first_ts - 1) > 0
    beats = []
    for stream_ts in last_due_ts:
        useful = advances & (frontier >= stream_ts)
        beats.append((frontier[useful], beats_ns[useful]))
    return beats


def _bounds(times: Sequence[IntArray]) -> tuple[int, int]:
    present = [ts for ts in times if len(ts)]
    return min(int(ts[0]) for ts in present), max(int(ts[-1]) for ts in present)
