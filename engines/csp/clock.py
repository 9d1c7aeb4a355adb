"""Gives every event of an input a different time on csp's clock, in total order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.errors import UnsupportedError

IntArray = npt.NDArray[np.int64]

LONGEST_NS = 9 * 10**18
"""Longest run. csp's times are ns since 1970 in an int64 (9.22 x 10^18); a run ends a little after its last event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Times of all events on csp's clock, which begins with the first event.

    csp processes all events of one time at once. A unit of event time therefore has `tick_ns` nanoseconds, enough to
    give events of equal event time different times, by stream, then by position.

    Attributes:
        times: per stream, int64[n], nanoseconds after the first event.
        first_ts: event time of the first event.
        tick_ns: nanoseconds per unit of event time.
        end_ns: a time after all events.
    """

    times: tuple[IntArray, ...]
    first_ts: int
    tick_ns: int
    end_ns: int

    @classmethod
    def from_times(cls, streams: Sequence[IntArray]) -> "Clock":
        """Place events on the clock, from the ascending event times of each stream.

        Raises:
            UnsupportedError: csp's clock is too short for the input.
        """
        positions = [_positions_in_ties(ts) for ts in streams]
        positions_per_ts = max((int(part.max()) + 1 for part in positions if len(part)), default=1)
        tick_ns = positions_per_ts * max(1, len(streams))
        first = min((int(ts[0]) for ts in streams if len(ts)), default=0)
        last = max((int(ts[-1]) for ts in streams if len(ts)), default=0)
        end_ns = (last - first + 1) * tick_ns
        if end_ns > LONGEST_NS:
            raise UnsupportedError(
                f"csp's clock runs {LONGEST_NS} ns; {last - first} units of event time, of {tick_ns} ns each to tell "
                "events of equal time apart, take longer"
            )
        times = tuple(
            (ts - first) * tick_ns + index * positions_per_ts + position
            for index, (ts, position) in enumerate(zip(streams, positions, strict=True))
        )
        return cls(times=times, first_ts=first, tick_ns=tick_ns, end_ns=end_ns)

    def event_ts(self, times: IntArray) -> IntArray:
        """Return the event time at times of the clock."""
        return self.first_ts + times // self.tick_ns


def _positions_in_ties(ts: IntArray) -> IntArray:
    """Return, for each event of a stream, the number of earlier events with the same time."""
    rows = np.arange(len(ts))
    begins = np.flatnonzero(np.diff(ts, prepend=ts[:1] - 1))
    return rows - np.repeat(begins, np.diff(begins, append=len(ts)))
