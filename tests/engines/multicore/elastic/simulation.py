"""A queueing simulation of an elastic operator whose costs are known, in virtual time."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamlab.engines.multicore.oplus.elastic.controller import make_controller
from streamlab.engines.multicore.oplus.elastic.loop import ElasticLoop, Switch
from streamlab.engines.multicore.oplus.elastic.mapping import balanced_mapping
from streamlab.engines.multicore.oplus.elastic.observation import Observation, RawSnapshot

BUCKETS = 1000


@dataclass(kw_only=True)
class SimulatedJoin:
    """A join of two inputs of equal rate, served first come, first served, in steps of `step_s`.

    A tuple costs each instance `tuple_s`, and all together `comparison_s` for each tuple in the
    opposite window. A tuple leaves the window WS after it arrived. With `pinned` the windows have
    that many tuples all the time, so that work is in proportion to the rate.

    Args:
        rate: `rate(t)`, t/s over both inputs at second t.
        jitter: a generator for Poisson arrivals; None: evenly.
    """

    rate: Callable[[float], float]
    instances: int
    maximum: int
    comparison_s: float
    tuple_s: float
    window_s: float
    pinned: int | None = None
    pause_s: float = 0.001
    step_s: float = 0.01
    jitter: Any = None
    steps: int = 0
    arrived: list = field(default_factory=lambda: [0, 0])
    processed: list = field(default_factory=lambda: [0, 0])
    comparisons: float = 0.0
    window: list = field(default_factory=lambda: [0.0, 0.0])
    kept: deque = field(
        default_factory=deque
    )  # (arrived at, left, right) of what is in the windows
    queue: deque = field(default_factory=deque)  # [arrived at, left, right] of what waits
    owed: float = 0.0
    credit_s: float = 0.0
    paused_s: float = 0.0
    waited: list = field(default_factory=list)
    """(now, seconds that the oldest waiting tuple has waited) at every step."""
    calls: list = field(default_factory=list)

    def __post_init__(self):
        self.busy_s = np.zeros(self.maximum)

    @property
    def now_s(self):
        return self.steps * self.step_s

    def step(self):
        now = self.now_s
        self.owed += self.rate(now) * self.step_s / 2
        each = int(self.owed)
        self.owed -= each
        come = (each, each)
        if self.jitter is not None:
            come = tuple(self.jitter.poisson(self.rate(now) * self.step_s / 2, 2).tolist())
        self.arrived = [a + n for a, n in zip(self.arrived, come, strict=True)]
        self.queue.append([now, *come])
        pause = min(self.paused_s, self.step_s)
        self.paused_s -= pause
        time_s = (self.step_s - pause) * self.instances
        left = time_s + self.credit_s
        self.credit_s = 0.0
        while self.queue and left > 0:
            at, first, second = self.queue[0]
            while self.kept and self.kept[0][0] + self.window_s < at:
                _, gone_first, gone_second = self.kept.popleft()
                self.window[0] -= gone_first
                self.window[1] -= gone_second
            windows = self.window if self.pinned is None else (self.pinned, self.pinned)
            compared = first * windows[1] + second * windows[0]
            cost = compared * self.comparison_s
            cost += (first + second) * self.tuple_s * self.instances
            whole = cost <= left
            share = 1.0 if whole else left / cost
            done = (first, second) if whole else (int(first * share), int(second * share))
            compared = done[0] * windows[1] + done[1] * windows[0]
            left -= compared * self.comparison_s + sum(done) * self.tuple_s * self.instances
            self.comparisons += compared
            self.processed = [a + n for a, n in zip(self.processed, done, strict=True)]
            self.window[0] += done[0]
            self.window[1] += done[1]
            self.kept.append((at, *done))
            if not whole:  # what was begun is ended in the next step
                self.queue[0][1] -= done[0]
                self.queue[0][2] -= done[1]
                self.credit_s, left = left, 0.0
                break
            self.queue.popleft()
        self.busy_s[: self.instances] += max(time_s - left, 0.0) / self.instances
        self.steps += 1
        oldest = self.queue[0][0] if self.queue else self.now_s
        self.waited.append((now, self.now_s - oldest))

    def run_until(self, until_s):
        while self.now_s < until_s:
            self.step()

    def snapshot(self):
        return RawSnapshot(
            time_ns=round(self.now_s * 1e9),
            active=tuple(range(self.instances)),
            busy_ns=tuple((self.busy_s * 1e9).astype(int).tolist()),
            processed=tuple(self.processed),
            arrived=tuple(self.arrived),
            windows=tuple(round(w if self.pinned is None else self.pinned) for w in self.window),
            comparisons=round(self.comparisons),
        )

    def reconfigure(self, instances, mapping):
        assert set(mapping.tolist()) == set(instances) == set(range(len(instances)))
        self.calls.append((self.now_s, self.instances, len(instances)))
        self.instances = len(instances)
        self.paused_s += self.pause_s
        return Switch(event_ts=round(self.now_s * 1000))


def steered(join, option, until_s):
    """Run a simulated join under a controller; returns the loop."""
    controller, settings = make_controller(option)
    loop = ElasticLoop(
        join,
        controller,
        settings,
        maximum=join.maximum,
        mapping=balanced_mapping(BUCKETS, join.instances),
        window_s=join.window_s,
        clock=lambda: round(join.now_s * 1e9),
    )
    period_s = settings.period_ms / 1000
    looks = 1
    while join.now_s < until_s:
        join.run_until(looks * period_s)
        loop.look()
        looks += 1
    return loop


def phases(seed, *, low, high, shortest_s, longest_s, total_s):
    """Return the starts and rates of phases as in STRETCH, section 8.5."""
    random = np.random.default_rng(seed)
    starts, rates = [0.0], [random.uniform(low, high)]
    while (start := starts[-1] + random.uniform(shortest_s, longest_s)) < total_s:
        starts.append(start)
        rates.append(random.uniform(low, high))
    return starts, rates


def piecewise(starts, rates):
    return lambda t: rates[bisect_right(starts, t) - 1]


def seen(*, instances=1, **fields):
    """Return an observation of the first instances in which nothing happened but what `fields` say."""
    quiet = {
        "time_s": 1.0,
        "span_s": 1.0,
        "active": tuple(range(instances)),
        "minimum": 1,
        "maximum": 100,
        "busy": (0.5,),
        "offered_eps": None,
        "arrived": None,
        "processed_eps": (),
        "pending": None,
        "windows": None,
        "window_s": 10.0,
        "comparison_s": None,
        "tuple_s": None,
        "mapping": np.zeros(BUCKETS, dtype=np.int64),
    }
    return Observation(**quiet | fields)
