"""A clock that stands still until it is read, slept on or told to go on; loads without heartbeats."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from streamlab.engines.pacer import Pacer
from streamlab.engines.protocol import IntArray, OfferedLoad


class FakeClock:
    """Reading it takes `read_ns`, so that whoever spins on it gets there."""

    def __init__(self, read_ns=100):
        self.read_ns = read_ns
        self.slept_ns = 0
        self._now_ns = 10**15
        self.pacer = partial(Pacer, clock=self.now, sleep=self.sleep)

    def now(self):
        self._now_ns += self.read_ns
        return self._now_ns

    def sleep(self, seconds):
        self.slept_ns += round(seconds * 1e9)
        self.pass_ns(round(seconds * 1e9))

    def pass_ns(self, duration_ns):
        self._now_ns += duration_ns


def load_of(
    due_ns: Sequence[IntArray], *, warm_up_ns: int = 0, end_ns: int | None = None
) -> OfferedLoad:
    """Return a load without any heartbeat; it ends with the last event unless `end_ns` is given."""
    nothing = tuple(np.empty(0, dtype=np.int64) for _ in due_ns)
    last_ns = max((int(due[-1]) for due in due_ns if len(due)), default=0)
    return OfferedLoad(
        due_ns=tuple(due_ns),
        heartbeat_ts=nothing,
        heartbeat_due_ns=nothing,
        warm_up_ns=warm_up_ns,
        end_ns=last_ns if end_ns is None else end_ns,
    )


def load_at_once(rows: Sequence[int]) -> OfferedLoad:
    """Return a load in which all rows of streams with these numbers of rows are due at once."""
    return load_of([np.zeros(number, dtype=np.int64) for number in rows])
