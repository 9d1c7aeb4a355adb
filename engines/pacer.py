"""A virtual source: an event is there from its due time on, and nobody sends it.

For engines that process event by event in Python. An engine that is late finds the events that were
due meanwhile, with their due times; no event is ever put off because the engine was slow. What a
source of its own would add, a thread and a queue, is not measured: `Sent.own_thread` is False.
"""

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

import numpy as np

from streamlab.engines.protocol import IntArray

E = TypeVar("E")

SPIN_NS = 100_000
"""The last part of a wait is spun away: a sleep ends up to about this much late on Linux, whose
timers have a slack of 50 us. An engine that waits for every event is therefore busy for 100 us
before each."""


class Pacer:
    """Hands events over when they are due, and notes what happened to each.

    Used once: iterate over `take`, then read the arrays.
    """

    def __init__(
        self,
        due_ns: IntArray,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare; the schedule starts with the first event that is taken.

        Args:
            due_ns: int64[n], ns after the start, non-decreasing, in the order of the events.
            clock: ns; monotonic.
            sleep: waits for so many seconds by that clock, or a little longer.
        """
        self._due_ns = np.ascontiguousarray(due_ns, dtype=np.int64)
        self._clock = clock
        self._sleep = sleep
        self._taken = array("q")
        self._done = array("q")
        self._rows = array("q")
        self._start_ns = 0

    def take(self, events: Iterable[E], rows: Sized = ()) -> Iterator[E]:
        """Yield every event when it is due, or at once when it was due before.

        The engine counts as done with an event when it asks for the next one.

        Args:
            events: as many as there are due times, in the same order.
            rows: where the engine puts its outputs; its length is read after every event.
        """
        clock, start_ns = self._clock, self._clock()
        self._start_ns = start_ns
        taken, done, made = self._taken.append, self._done.append, self._rows.append
        now = 0
        for event, due in zip(events, self._due_ns.data, strict=True):
            if now < due:
                now = self._wait(due, start_ns)
            taken(now)
            yield event
            now = clock() - start_ns
            done(now)
            made(len(rows))

    def finish(self, rows: Sized) -> None:
        """Count what was put out after the last event as made by it; it is done now."""
        if self._rows and len(rows) > self._rows[-1]:
            self._rows[-1] = len(rows)
            self._done[-1] = self._clock() - self._start_ns

    @property
    def taken_ns(self) -> IntArray:
        """When the engine took each event: int64[n], ns after the start."""
        return _copied(self._taken)

    @property
    def done_ns(self) -> IntArray:
        """When the engine was done with each event: int64[n], ns after the start."""
        return _copied(self._done)

    @property
    def made_by(self) -> IntArray:
        """The event, by its place in the order, that made each output: int64[m], ascending."""
        rows = _copied(self._rows)
        return np.repeat(np.arange(len(rows)), np.diff(rows, prepend=0))

    def _wait(self, due_ns: int, start_ns: int) -> int:
        """Return the time, at or after `due_ns`, both after the start."""
        while True:
            now = self._clock() - start_ns
            if now >= due_ns:
                return now
            if due_ns - now > SPIN_NS:
                self._sleep((due_ns - now - SPIN_NS) / 1e9)


def _copied(values: "array[int]") -> IntArray:
    return np.array(values, dtype=np.int64)
