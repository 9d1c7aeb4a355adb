"""Records how many tuples arrived over time, as far back as a window reaches."""

from bisect import bisect_right


class Arrivals:
    """Cumulative arrivals by input, at the times of the observations.

    Args:
        keep_s: how far back queries may reach.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._times_s: list[float] = []
        self._counts: list[tuple[int, ...]] = []

    def add(self, time_s: float, counts: tuple[int, ...]) -> None:
        """Record the arrivals until `time_s`; times ascend."""
        self._times_s.append(time_s)
        self._counts.append(counts)
        # Keep the last record before the horizon, for interpolation. Cut rarely, since it copies.
        old = bisect_right(self._times_s, time_s - self._keep_s) - 1
        if old > 64 and 2 * old > len(self._times_s):
            del self._times_s[:old], self._counts[:old]

    def rates(self, begin_s: float, end_s: float) -> tuple[float, ...] | None:
        """Return t/s by input between two times; None before the second observation."""
        begin_s = max(begin_s, self._times_s[0])
        if begin_s >= end_s:
            return None
        return tuple(n / (end_s - begin_s) for n in self.between(begin_s, end_s))

    def between(self, begin_s: float, end_s: float) -> tuple[float, ...]:
        """Return the number of tuples that arrived between two times, by input.

        Interpolates between observations; none arrive before the first.
        """
        return tuple(b - a for a, b in zip(self._until(begin_s), self._until(end_s), strict=True))

    def _until(self, time_s: float) -> tuple[float, ...]:
        after = bisect_right(self._times_s, time_s)
        if after == 0:
            return tuple(map(float, self._counts[0]))
        first = self._counts[after - 1]
        if after == len(self._times_s):
            return tuple(map(float, first))
        t0, t1 = self._times_s[after - 1], self._times_s[after]
        share = (time_s - t0) / (t1 - t0)
        return tuple(a + share * (b - a) for a, b in zip(first, self._counts[after], strict=True))
