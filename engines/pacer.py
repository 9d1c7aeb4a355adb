"""Paces events as a virtual source: an event is available from its due time on, without a sending thread.

The pacer serves engines that process event by event in Python. A slow engine never postpones an event: events that
become due meanwhile keep their due times. Measurements exclude the thread and the queue of a real source, so
`Sent.own_thread` is False.
"""

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

import numpy as np

from streamlab.engines.protocol import IntArray

E = TypeVar("E")

SPIN_NS = 100_000
"""Length of the busy loop that ends each wait.

Linux timers have a slack of 50 us, so a sleep may end up to about 100 us late. An engine that waits for every event is
therefore busy for 100 us before each event.
"""


class Pacer:
    """Yields events when they are due, and records the times and outputs of each event.

    Use it once: iterate over `take`, then read the arrays.
    """

    def __init__(
        self,
        due_ns: IntArray,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Store the due times, in ns after the start, non-decreasing, in the order of the events.

        The schedule starts when the first event is taken.
        """
        self._due_ns = np.ascontiguousarray(due_ns, dtype=np.int64)
        self._clock = clock
        self._sleep = sleep
        self._taken = array("q")
        self._done = array("q")
        self._rows = array("q")
        self._start_ns = 0

    def take(self, events: Iterable[E], rows: Sized = ()) -> Iterator[E]:
        """Yield every event when it is due, or at once if it is overdue. There is one due time per event.

        Requesting the next event marks the previous one as done. `rows` are the outputs so far; their number is
        read after every event.
        """
        clock, start_ns = self._clock, self._clock()
        self._start_ns = start_ns
        add_taken, add_done, add_rows = self._taken.append, self._done.append, self._rows.append
        now = 0
        for event, due in zip(events, self._due_ns.data, strict=True):
            if now < due:
                now = self._wait(due, start_ns)
            add_taken(now)
            yield event
            now = clock() - start_ns
            add_done(now)
            add_rows(len(rows))

    def finish(self, rows: Sized) -> None:
        """Attribute outputs emitted since the last event to that event, and mark it done now."""
        if self._rows and len(rows) > self._rows[-1]:
            self._rows[-1] = len(rows)
            self._done[-1] = self._clock() - self._start_ns

    @property
    def now_ns(self) -> int:
        """When the engine took the latest event, in ns after the start."""
        return self._taken[-1]

    @property
    def taken_ns(self) -> IntArray:
        """When the engine took each event: int64[n], ns after the start."""
        return _to_array(self._taken)

    @property
    def done_ns(self) -> IntArray:
        """When the engine finished each event: int64[n], ns after the start."""
        return _to_array(self._done)

    @property
    def made_by(self) -> IntArray:
        """Index of the event that made each output: int64[m], ascending."""
        rows = _to_array(self._rows)
        return np.repeat(np.arange(len(rows)), np.diff(rows, prepend=0))

    def _wait(self, due_ns: int, start_ns: int) -> int:
        """Wait until `due_ns` and return the time; both in ns after the start."""
        while True:
            now = self._clock() - start_ns
            if now >= due_ns:
                return now
            if due_ns - now > SPIN_NS:
                self._sleep((due_ns - now - SPIN_NS) / 1e9)


def _to_array(values: "array[int]") -> IntArray:
    return np.array(values, dtype=np.int64)
