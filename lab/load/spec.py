"""One concrete offered load: what a single trial is given."""

from collections.abc import Mapping

import msgspec

from streamlab.engines.protocol import ADAPTIVE

CONSTANT = "constant"
POISSON = "poisson"
BURSTS = "bursts"
REPLAY = "replay"
PHASES = "phases"
STEP = "step"

SHORTEST_HEARTBEAT_MS = 0.01
"""A hundred thousand heartbeats a second on each stream: more would be the load."""

SEND_LAG_MS = 1.0
"""What a generator with a core of its own keeps; see docs/method.md."""

ARRIVALS: Mapping[str, Mapping[str, float]] = {
    CONSTANT: {},
    POISSON: {},
    BURSTS: {"on_s": 0.1, "off_s": 0.1},
    REPLAY: {"speed_up": 1.0, "tick_ns": 1_000_000.0},
    PHASES: {"min_s": 0.5, "max_s": 2.0, "min_factor": 0.5, "max_factor": 1.5, "scale": 1.0},
    STEP: {"at_s": 30.0, "factor": 2.0, "scale": 1.0},
}
"""The arrival processes, and the parameters of each with their defaults."""


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An offered load of one rate.

    Attributes:
        arrival: one of ARRIVALS. `constant`: event k is due at k / rate. `poisson`: exponential
            gaps, seeded. `bursts`: on for `on_s` at a rate that makes the mean `rate_eps`, then
            silent for `off_s`. `replay`: gaps as in the recorded event times, whose unit is
            `tick_ns`, `speed_up` times as fast; `rate_eps` is then what comes of it and is not
            given. `phases`: phases of random length in [min_s, max_s] x `scale` and random rate in
            [min_factor, max_factor] x `rate_eps`, scaled so that the mean from the start to the end
            of the window is `rate_eps`; seeded. `step`: `rate_eps` for `at_s` x `scale` seconds
            from the start (of the warm-up), from then on `factor` x `rate_eps`.
        rate_eps: mean offered rate over all streams together, events/s (of `step`: the first
            rate); None for `replay`.
        warm_up_s, window_s: the steady window follows the warm-up; the input is cut to their sum.
        seed: of random arrivals.
        batching: see `streamlab.engines.protocol.OfferedLoad`.
        heartbeat_ms: period of the heartbeats that every stream gets while others go on.
        heartbeats_per_barrier: how many of them come, on the mean, from one synchronizing event to
            the next, whatever the rate; None: their period is `heartbeat_ms`.
        params: of the arrival process, complete.
        objective: further condition on a sustained rate, e.g. `p99 <= 10ms`; None: none.
        send_lag_ms: most send lag, as the 99th percentile, of a valid trial. More than the default
            is for loads that keep all cores busy by design; latency contains the lag.
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
