"""Records the counters of an energy provider in a thread."""

import threading

import numpy as np
from numpy.typing import NDArray

from streamlab.lab.measure.energy.account import Row, account, unreadable
from streamlab.lab.measure.energy.joules import Track, joules_at, track
from streamlab.lab.measure.energy.provider import Counters, Provider, Reading, Unusable

POLL_HZ = 10
"""The literature recommends 1 to 10 Hz: at 1 kHz, tools take up to half of the time (arXiv 2604.26815)."""


class EnergyRecorder:
    """A thread that reads the counters ten times a second; use as a context manager.

    The thread also reads at the start, at the end and at every `mark`. It never raises because of a counter.
    An unusable provider costs only the attempt to open it.
    Energy between two readings has no exact time, so call `mark` at the edges of a window.
    """

    def __init__(self, provider: Provider, *, period_s: float = 1 / POLL_HZ) -> None:
        self._provider = provider
        self._period_s = period_s
        self._counters: Counters | None = None
        self._readings: list[Reading] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._tracks: dict[str, Track] | None = None
        self.reason: str | None = "the recorder was not started"
        """Why nothing is recorded; None while recording."""

    def __enter__(self) -> "EnergyRecorder":
        counters = self._provider.open()
        if isinstance(counters, Unusable):
            self.reason = counters.reason
            return self
        self.reason = None
        self._counters = counters
        self.mark()
        self._thread = threading.Thread(target=self._run, name="lab-energy", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Return the provider's child process, whose CPU time is not the engine's; None without a child."""
        pid = getattr(self._counters, "pid", None)
        return pid if isinstance(pid, int) else None

    def mark(self) -> None:
        """Read the counters now; call it at the edges of a window to make them exact."""
        if self._counters is None or self._stop.is_set():
            return
        with self._lock:
            self._readings.extend(self._counters.read())

    def stop(self) -> None:
        """Read the counters a last time, end the thread and close the counters. May be called twice."""
        if self._counters is None or self._stop.is_set():
            return
        self.mark()
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._readings.extend(self._counters.close())

    def series(self) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
        """Return the times of all readings, and the joules of every domain since the first reading.

        The joules never decrease, and are NaN after a domain's last reading.
        Both results are empty if nothing is recorded.
        """
        tracks = self.tracks()
        with_readings = [data.times_ns for data in tracks.values() if len(data.times_ns)]
        if not with_readings:
            return np.empty(0, np.int64), {}
        times_ns = np.unique(np.concatenate(with_readings))
        columns: dict[str, NDArray[np.float64]] = {}
        for name, data in tracks.items():
            joules = joules_at(data, times_ns)
            last_ns = data.times_ns[-1] if len(data.times_ns) else 0
            columns[name] = np.where(times_ns <= last_ns, joules, np.nan)
        return times_ns, columns

    def columns(self, start_ns: int, end_ns: int, *, events: int | None) -> Row:
        """Return the energy columns for a window (see `account`). Call after `stop`.

        The net columns are null until `idle.net` fills them.
        """
        if self._counters is None:
            return unreadable(self.reason or "nothing was recorded")
        return account(
            self.tracks(),
            start_ns,
            end_ns,
            source=self._provider.name,
            events=events,
            remarks=self._counters.remarks,
        )

    def tracks(self) -> dict[str, Track]:
        """Return the track of every domain; computed once after `stop`."""
        if self._counters is None:
            return {}
        if self._tracks is not None:
            return self._tracks
        with self._lock:
            readings = list(self._readings)
        tracks = {domain.name: track(domain, readings) for domain in self._counters.domains}
        if self._stop.is_set():
            self._tracks = tracks
        return tracks

    def _run(self) -> None:
        while not self._stop.wait(self._period_s):
            self.mark()
