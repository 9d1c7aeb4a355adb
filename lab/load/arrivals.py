"""Computes due times of events for the arrival processes, as pure functions of a specification.

All processes except `poisson` follow a piecewise linear curve U(t).
U(t) is the time in which a constant-rate source sends the events due by t; event k is due when U reaches k / rate.
For `constant`, U(t) = t.

Random numbers are drawn in a fixed order, in chunks of fixed size.
So a longer schedule starts with the shorter one, and schedules of different rates have proportional gaps.
"""

import math

import numpy as np
import numpy.typing as npt

from streamlab.lab.load.spec import (
    ARRIVALS,
    BURSTS,
    CONSTANT,
    POISSON,
    REPLAY,
    STEP,
    LoadSpec,
)

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NS_PER_S = 1_000_000_000
_GAPS = 1 << 16
"""Size of a chunk of Poisson gaps."""
_ROUNDING = 1e-9
"""Tolerance for a whole number of burst periods after rounding, as a share of the period."""


def due_times(spec: LoadSpec, count: int) -> IntArray:
    """Return the due times of the first `count` events over all streams, for a load with a rate.

    Due times are in ns after the start, and non-decreasing. The first is 0, or the first gap for `poisson`.
    """
    return _reached_ns(_units(spec, count) / _rate(spec), spec)


def replay_times(spec: LoadSpec, ts: IntArray) -> IntArray:
    """Return the due times of a `replay` load, in ns after the first event.

    `ts` are non-decreasing event times in units of `tick_ns`.
    """
    params = parameters(spec)
    offsets: FloatArray = (ts - ts[:1]).astype(np.float64)
    offsets *= params["tick_ns"] / params["speed_up"]
    return np.rint(offsets, out=offsets).astype(np.int64)


def parameters(spec: LoadSpec) -> dict[str, float]:
    """Return all parameters of the arrival process, with defaults."""
    return {**ARRIVALS[spec.arrival], **spec.params}


def load_end_ns(spec: LoadSpec) -> int:
    """Return the end of the steady window, in ns after the start."""
    return round((spec.warm_up_s + spec.window_s) * NS_PER_S)


def expected_events(spec: LoadSpec) -> float:
    """Return the number of events due before the window's end; the mean for `poisson`."""
    return _rate(spec) * _cover(spec)


def feasible_eps(spec: LoadSpec, events: int) -> float:
    """Return the highest rate at which `events` events last until the end of the window.

    The result is exact, because the same seed gives the same gaps at every rate.
    """
    if spec.arrival == POISSON:
        # Event number `events`, from 0, must not be due before the end.
        highest_eps = float(_units(spec, events + 1)[-1]) / _cover(spec)
    else:
        highest_eps = events / _cover(spec)
    # A rate rounded up would need one more event.
    return highest_eps * (1 - 1e-9)


def _rate(spec: LoadSpec) -> float:
    if spec.arrival == REPLAY or spec.rate_eps is None:
        raise ValueError(
            f"arrival {spec.arrival} with rate {spec.rate_eps} has no schedule; a rate is required"
        )
    return spec.rate_eps


def _units(spec: LoadSpec, count: int) -> FloatArray:
    """Return U times the rate for the first `count` events; this product is independent of the rate."""
    if spec.arrival != POISSON:
        return np.arange(count, dtype=np.float64)
    # Chunks of fixed size make the order of additions independent of `count`.
    random = np.random.Generator(np.random.PCG64(spec.seed))
    units = np.empty(math.ceil(count / _GAPS) * _GAPS, dtype=np.float64)
    total = 0.0
    for begin in range(0, count, _GAPS):
        chunk = units[begin : begin + _GAPS]
        random.standard_exponential(out=chunk)
        np.cumsum(chunk, out=chunk)
        chunk += total
        total = float(chunk[-1])
    return units[:count]


def _reached_ns(u: FloatArray, spec: LoadSpec) -> IntArray:
    """Return the times at which the curve U reaches the values `u` (seconds), in ns; overwrites `u`."""
    params = parameters(spec)
    if spec.arrival == BURSTS:
        on, period = params["on_s"], params["on_s"] + params["off_s"]
        periods = np.floor(u / period + _ROUNDING)
        u -= periods * period
        np.maximum(u, 0.0, out=u)
        u *= on / period
        u += periods * period
    elif spec.arrival == STEP:
        at_s = params["at_s"]
        np.copyto(u, at_s + (u - at_s) / params["factor"], where=u > at_s)
    else:
        assert spec.arrival in (CONSTANT, POISSON)
    u *= NS_PER_S
    return np.rint(u, out=u).astype(np.int64)


def _cover(spec: LoadSpec) -> float:
    """Return U at the end of the window, in seconds."""
    end_s = spec.warm_up_s + spec.window_s
    params = parameters(spec)
    if spec.arrival == STEP:
        at_s = params["at_s"]
        return min(end_s, at_s) + max(0.0, end_s - at_s) * params["factor"]
    if spec.arrival != BURSTS:
        return end_s
    on, period = params["on_s"], params["on_s"] + params["off_s"]
    periods = math.floor(end_s / period + _ROUNDING)
    return periods * period + min(max(end_s - periods * period, 0.0), on) * period / on
