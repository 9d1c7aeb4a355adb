"""When each event is due: the arrival processes, as pure functions of a specification.

Every process but `poisson` is deterministic in time once its phases are known. It is described by a
curve U(t), the time that a source of constant rate would have needed for what this one has sent by
t; event k is due where U reaches k / rate. U is piecewise linear, and U(t) = t for `constant`.

Random numbers are drawn in a fixed order in chunks of fixed size, so that a longer schedule of the
same specification begins with the shorter one, and schedules of different rate have their gaps in
the same proportions.
"""

import math

import numpy as np
import numpy.typing as npt

from streamlab.lab.load.spec import (
    ARRIVALS,
    BURSTS,
    CONSTANT,
    PHASES,
    POISSON,
    REPLAY,
    STEP,
    LoadSpec,
)

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NS_PER_S = 1_000_000_000
_GAPS = 1 << 16
"""Poisson gaps drawn at once."""
_PHASES = 256
"""Phases drawn at once."""
_ROUNDING = 1e-9
"""Share of a burst's period by which a rounded quotient may miss a whole number of periods."""


def due_times(spec: LoadSpec, count: int) -> IntArray:
    """Return when the first `count` events are due.

    Args:
        spec: a load with a rate, i.e. any but `replay`.
        count: number of events, over all streams.

    Returns:
        int64[count], ns after the start, non-decreasing. All begin at 0 but `poisson`, which begins
        after its first gap.
    """
    return _reached_ns(_units(spec, count) / _rate(spec), spec)


def replay_times(spec: LoadSpec, ts: IntArray) -> IntArray:
    """Return when the events with these recorded times are due.

    Args:
        spec: a `replay`.
        ts: int64[n], non-decreasing event times in units of `tick_ns`.

    Returns:
        int64[n], ns after the first event.
    """
    params = parameters(spec)
    elapsed: FloatArray = (ts - ts[:1]).astype(np.float64)
    elapsed *= params["tick_ns"] / params["speed_up"]
    return np.rint(elapsed, out=elapsed).astype(np.int64)


def parameters(spec: LoadSpec) -> dict[str, float]:
    """Return all parameters of the arrival process: those given, the others by default."""
    return {**ARRIVALS[spec.arrival], **spec.params}


def load_end_ns(spec: LoadSpec) -> int:
    """Return when the steady window ends, ns after the start."""
    return round((spec.warm_up_s + spec.window_s) * NS_PER_S)


def expected_events(spec: LoadSpec) -> float:
    """Return how many events are due before the window's end; for `poisson` on average."""
    return _rate(spec) * _cover(spec)


def feasible_eps(spec: LoadSpec, events: int) -> float:
    """Return the highest rate at which so many events last to the end of the window.

    Exact for the random numbers of `spec`: the same seed gives the same gaps at every rate.
    """
    if spec.arrival == POISSON:
        # Event number `events`, counted from 0, must not be due before the end.
        highest = float(_units(spec, events + 1)[-1]) / _cover(spec)
    else:
        highest = events / _cover(spec)
    # A rate that is rounded up would need one event more.
    return highest * (1 - 1e-9)


def _rate(spec: LoadSpec) -> float:
    if spec.arrival == REPLAY or spec.rate_eps is None:
        raise ValueError(f"arrival {spec.arrival} has rate {spec.rate_eps}: there is no schedule")
    return spec.rate_eps


def _units(spec: LoadSpec, count: int) -> FloatArray:
    """Return U of the first `count` events times the rate: what does not depend on the rate."""
    if spec.arrival != POISSON:
        return np.arange(count, dtype=np.float64)
    # By chunks of fixed size, so that the order of additions does not depend on `count`.
    random = np.random.Generator(np.random.PCG64(spec.seed))
    units = np.empty(math.ceil(count / _GAPS) * _GAPS, dtype=np.float64)
    reached = 0.0
    for begin in range(0, count, _GAPS):
        chunk = units[begin : begin + _GAPS]
        random.standard_exponential(out=chunk)
        np.cumsum(chunk, out=chunk)
        chunk += reached
        reached = float(chunk[-1])
    return units[:count]


def _reached_ns(u: FloatArray, spec: LoadSpec) -> IntArray:
    """Return where the curve U reaches the values `u` (seconds), in ns. Overwrites `u`."""
    params = parameters(spec)
    if spec.arrival == BURSTS:
        on, period = params["on_s"], params["on_s"] + params["off_s"]
        whole = np.floor(u / period + _ROUNDING)
        u -= whole * period
        np.maximum(u, 0.0, out=u)
        u *= on / period
        u += whole * period
    elif spec.arrival == PHASES:
        times, reached = _phases(spec, float(u[-1]) if len(u) else 0.0)
        u = np.interp(u, reached, times)
    elif spec.arrival == STEP:
        at_s = params["at_s"] * params["scale"]
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
        at_s = params["at_s"] * params["scale"]
        return min(end_s, at_s) + max(0.0, end_s - at_s) * params["factor"]
    if spec.arrival != BURSTS:
        return end_s  # of `phases`: since their rates are scaled
    on, period = params["on_s"], params["on_s"] + params["off_s"]
    whole = math.floor(end_s / period + _ROUNDING)
    return whole * period + min(max(end_s - whole * period, 0.0), on) * period / on


def _phases(spec: LoadSpec, u_max: float) -> tuple[FloatArray, FloatArray]:
    """Return the corners (t, U) of the phases' curve, at least up to the value `u_max`."""
    params = parameters(spec)
    end_s = spec.warm_up_s + spec.window_s
    random = np.random.Generator(np.random.PCG64(spec.seed))
    lengths, factors = np.empty(0), np.empty(0)
    while True:
        drawn = random.random((_PHASES, 2))
        drawn_s = _between(drawn[:, 0], params["min_s"], params["max_s"]) * params["scale"]
        lengths = np.append(lengths, drawn_s)
        factors = np.append(
            factors, _between(drawn[:, 1], params["min_factor"], params["max_factor"])
        )
        times = np.append(0.0, np.cumsum(lengths))
        reached = np.append(0.0, np.cumsum(lengths * factors))
        at_end = float(np.interp(end_s, times, reached))
        if times[-1] < end_s or at_end == 0.0:
            continue
        reached *= end_s / at_end
        if reached[-1] > u_max:
            return times, reached


def _between(unit: FloatArray, low: float, high: float) -> FloatArray:
    return low + unit * (high - low)
