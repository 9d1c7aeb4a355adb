"""Defines the specification of a trial's offered load."""

from collections.abc import Mapping

import msgspec

from streamlab.engines.protocol import ADAPTIVE

CONSTANT = "constant"
POISSON = "poisson"
BURSTS = "bursts"
REPLAY = "replay"
STEP = "step"

SHORTEST_HEARTBEAT_MS = 0.01
"""At most a hundred thousand heartbeats a second on each stream; more would dominate the load."""

SEND_LAG_MS = 1.0
"""Default limit; on a separate core, a generator's lag stays below this limit (docs/method.md)."""

ARRIVALS: Mapping[str, Mapping[str, float]] = {
    CONSTANT: {},
    POISSON: {},
    BURSTS: {"on_s": 0.1, "off_s": 0.1},
    REPLAY: {"speed_up": 1.0, "tick_ns": 1_000_000.0},
    STEP: {"at_s": 30.0, "factor": 2.0},
}
"""Arrival processes and their parameters, with defaults."""


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An offered load with one rate.

    The arrival processes are:

    - `constant`: event k is due at k / rate.
    - `poisson`: exponential gaps, seeded.
    - `bursts`: active for `on_s`, then silent for `off_s`, with the mean rate `rate_eps`.
    - `replay`: the recorded event times in units of `tick_ns`, `speed_up` times as fast; has no `rate_eps`.
    - `step`: `rate_eps` for `at_s` seconds from the start of the warm-up, then `factor` x `rate_eps`.

    Attributes:
        arrival: one of ARRIVALS.
        rate_eps: mean offered rate over all streams, events/s (for `step` the first rate); None for `replay`.
        warm_up_s, window_s: durations of the warm-up and of the steady window after it; the input is truncated to
            their sum.
        seed: seed of random arrivals.
        batching: see `streamlab.engines.protocol.OfferedLoad`.
        heartbeat_ms: period of the heartbeats on every stream.
        heartbeats_per_barrier: mean number of heartbeats between two synchronizing events, at any rate; None if
            `heartbeat_ms` is used.
        params: all parameters of the arrival process.
        objective: further condition on a sustained rate, e.g. `p99 <= 10ms`, or None.
        send_lag_ms: limit for the 99th percentile of the send lag in a valid trial. Raise the limit for loads that
            keep all cores busy by design; latency includes the lag.
    """

    arrival: str = CONSTANT
    rate_eps: float | None = None
    warm_up_s: float
    window_s: float
    seed: int = 1
    batching: str = ADAPTIVE
    heartbeat_ms: float = 1.0
    heartbeats_per_barrier: float | None = None
    params: Mapping[str, float] = {}
    objective: str | None = None
    send_lag_ms: float = SEND_LAG_MS
