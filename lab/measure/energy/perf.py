"""Reads energy events of the kernel's `power` unit through `perf stat` as a child process.

The kernel extends these counters to 64 bits, so they do not wrap.
perf prints the counts of each 100 ms; this module sums them. `perf stat --per-socket -I <ms> -x ;` prints lines such as

    0.100121637;S0;1;1.87;Joules;power/energy-pkg/;100120943;100.00;;

The fields are the seconds since perf's start, the socket, the number of CPUs read, the joules since the previous line,
the unit and the event. Later fields are ignored ("CSV FORMAT" in perf-stat(1)).
In place of joules, perf may print `<not counted>` or `<not supported>`.

perf may have permission to count (CAP_PERFMON) where powercap zones are missing or closed. This process lacks the
permission, so it runs perf instead of using perf's system call.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from streamlab.lab.measure.energy.provider import (
    BARE_METAL,
    Domain,
    Reading,
    Unusable,
    gross_domains,
)

PERIOD_MS = 100
START_TIMEOUT_S = 2.0
"""Twenty of perf's periods; perf prints the first interval after one period."""
EVENTS_BELOW = "sys/bus/event_source/devices/power/events"
PARANOID = "proc/sys/kernel/perf_event_paranoid"
# perf's event names and the powercap names; `gpu` is the second power plane, powercap's uncore.
EVENTS = {
    "energy-pkg": "package",
    "energy-cores": "core",
    "energy-gpu": "uncore",
    "energy-ram": "dram",
    "energy-psys": "psys",
}
_LINE = re.compile(
    r"\s*(?P<time>\d+\.\d+);S(?P<socket>\d+)(?:-D(?P<die>\d+))?;\d+;"
    r"(?P<value>\d+(?:\.\d+)?(?=;Joules;)|<not counted>|<not supported>);[^;]*;(?:power/)?(?P<event>energy-\w+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyLine:
    """One event of one socket in one interval.

    Attributes:
        time: perf's text of the time, equal for all lines of an interval.
        domain: name of the domain, e.g. `package-0`.
        uj: microjoules since the previous line, or perf's text on why the number is missing.
    """

    time: str
    domain: str
    uj: float | str

    @property
    def time_ns(self) -> int:
        """Return the nanoseconds since perf's start."""
        seconds, _, fraction = self.time.partition(".")
        return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def parse(line: str) -> EnergyLine | None:
    """Parse a line; return None if it is not an energy line."""
    match = _LINE.match(line)
    if match is None or match["event"] not in EVENTS:
        return None
    kind, value = EVENTS[match["event"]], match["value"]
    # The platform has one counter, shown by one socket.
    name = "psys" if kind == "psys" and match["socket"] == "0" else f"{kind}-{match['socket']}"
    if match["die"] is not None and kind != "psys":
        name = f"{name}-die-{match['die']}"
    uj = value if value.startswith("<") else float(value) * 1e6
    return EnergyLine(time=match["time"], domain=name, uj=uj)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perf:
    """`perf stat` on the energy events."""

    name: ClassVar[str] = "perf"
    root: Path = Path("/")
    which: Callable[[str], str | None] = shutil.which
    start_timeout_s: float = START_TIMEOUT_S

    def open(self) -> "PerfCounters | Unusable":
        """Start perf and wait for its first interval."""
        event_names = {path.name for path in (self.root / EVENTS_BELOW).glob("energy-*")}
        events = [event for event in EVENTS if event in event_names]
        if not events:
            return Unusable(reason="no power events (PMU `power` is absent)", remedy=BARE_METAL)
        program = self.which("perf")
        if program is None:
            return Unusable(
                reason=f"the machine has {', '.join(events)}, but perf is not installed",
                remedy="install perf (Debian: linux-perf, Fedora: perf)",
            )
        try:
            counters = PerfCounters(program, events)
        except OSError as error:
            return Unusable(reason=f"{program}: {error.strerror}", remedy="reinstall perf")
        error_text = counters.wait_for_first(self.start_timeout_s)
        if error_text is None:
            return counters
        counters.close()
        return Unusable(reason=f"perf: {error_text}", remedy=self._remedy())

    def _remedy(self) -> str:
        try:
            paranoid = int((self.root / PARANOID).read_text(encoding="ascii"))
        except (OSError, ValueError):
            paranoid = 0
        return "sudo sysctl kernel.perf_event_paranoid=0" if paranoid > 0 else BARE_METAL


class PerfCounters:
    """A running `perf stat`.

    `pid` is perf's process, so that the measurement can leave out perf's CPU time and memory.

    A thread reads the lines as they arrive.
    Line times count from perf's own start.
    The estimate of perf's start is the smallest difference between arrival and line time, so late
    arrivals on a busy machine do not shift the estimate.
    """

    def __init__(self, program: str, events: Sequence[str]) -> None:
        selectors = ",".join(f"power/{event}/" for event in events)
        # `;` is in no number, the C locale has a decimal point, and `--log-fd 1` separates output from errors.
        options = ["-a", "--per-socket", "-I", str(PERIOD_MS), "-x", ";", "--log-fd", "1"]
        self._process = subprocess.Popen(
            [program, "stat", *options, "-e", selectors],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
        )
        self.pid = self._process.pid
        self.domains: tuple[Domain, ...] = ()
        self.remarks: tuple[str, ...] = ()
        self._sums_uj: dict[str, float] = {}
        self._unread: list[tuple[int, Reading]] = []
        self._interval: list[EnergyLine] = []
        self._offset_ns: int | None = None
        self._last_ns = 0
        self._printed_ns = 0
        # Guards the state that the thread shares; notified at every line and at the end.
        self._lock = threading.Condition()
        self._first = threading.Event()
        self._closed = False
        self._ended = False
        self._thread = threading.Thread(target=self._follow, name="lab-perf", daemon=True)
        self._thread.start()

    def wait_for_first(self, timeout_s: float) -> str | None:
        """Wait for the first interval; return None if it has a total, else the error."""
        self._first.wait(timeout_s)
        with self._lock:
            names = [domain.name for domain in self.domains]
        if gross_domains(names):
            return None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)
        if self._process.poll() is not None:
            return self._complaint() or f"ended with code {self._process.returncode}"
        return "; ".join(self.remarks) or f"no line within {timeout_s:g} s"

    def read(self) -> tuple[Reading, ...]:
        """Return the intervals that perf has printed since the last call."""
        with self._lock:
            unread, self._unread = self._unread, []
            offset_ns = self._offset_ns or 0
            has_ended = self._ended
        if has_ended and not unread and not self._closed and self._process.poll() is not None:
            return (self._end(),)
        readings: list[Reading] = []
        for since_start_ns, reading in unread:
            # A better estimate of perf's start may be earlier than the previous one.
            self._last_ns = max(since_start_ns + offset_ns, self._last_ns + 1)
            readings.append(replace(reading, time_ns=self._last_ns))
        return tuple(readings)

    def _end(self) -> Reading:
        """Return a failed reading: perf ended by itself, and the time after its last interval is lost."""
        end_text = f"perf ended with code {self._process.returncode}"
        failures = {domain.name: end_text for domain in self.domains}
        return Reading(time_ns=time.monotonic_ns(), counters_uj={}, failed=failures)

    def close(self) -> tuple[Reading, ...]:
        """Wait for the interval that covers this moment (100 ms at most), and end perf.

        The wait is needed because perf does not always print a last, shorter interval on SIGINT.
        """
        if self._closed:
            return ()
        self._closed = True
        now_ns = time.monotonic_ns()
        with self._lock:
            self._lock.wait_for(
                lambda: self._ended or self._printed_ns >= now_ns, timeout=3 * PERIOD_MS / 1000
            )
            already_ended = self._ended
        if not already_ended:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):  # stuck in the kernel, so it cannot be killed
                self._process.wait(2.0)
        self._thread.join(1.0)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None and self._process.poll() is not None:  # else its reader uses it
                pipe.close()
        return (*self.read(), self._end()) if already_ended else self.read()

    def _follow(self) -> None:
        """Read perf's lines until it ends, in a thread; collect intervals and estimate perf's start."""
        assert self._process.stdout is not None
        for text in self._process.stdout:
            arrived_ns = time.monotonic_ns()
            line = parse(text)
            if line is None:
                continue
            with self._lock:
                offset_ns = arrived_ns - line.time_ns
                if self._offset_ns is None or offset_ns < self._offset_ns:
                    self._offset_ns = offset_ns
                if self._interval and self._interval[0].time != line.time:
                    self._finish_interval()
                self._interval.append(line)
                self._printed_ns = line.time_ns + self._offset_ns
                self._lock.notify_all()
        with self._lock:
            self._finish_interval()
            self._ended = True
            self._lock.notify_all()
        self._first.set()

    def _finish_interval(self) -> None:
        """Add one interval to the sums; the first interval defines the domains."""
        lines, self._interval = self._interval, []
        if not lines:
            return
        if not self._first.is_set():
            domains = [line.domain for line in lines if not isinstance(line.uj, str)]
            self.domains = tuple(Domain(name=name) for name in domains)
            self._sums_uj = dict.fromkeys(domains, 0.0)
            self._unread.append((0, Reading(time_ns=0, counters_uj=dict.fromkeys(domains, 0))))
            self.remarks = tuple(
                f"{line.domain}: {line.uj}" for line in lines if isinstance(line.uj, str)
            )
        gaps = set(self._sums_uj)
        for line in lines:
            if line.domain in self._sums_uj and not isinstance(line.uj, str):
                self._sums_uj[line.domain] += line.uj
                gaps.discard(line.domain)
        counters = {name: round(uj) for name, uj in self._sums_uj.items()}
        reading = Reading(time_ns=0, counters_uj=counters, gaps=frozenset(gaps))
        self._unread.append((lines[0].time_ns, reading))
        self._first.set()

    def _complaint(self) -> str:
        """Return the first sentence of perf's error, without help text; perf must have ended."""
        assert self._process.stderr is not None
        text = " ".join(self._process.stderr.read().split())
        text = text.removeprefix("Error: ").partition(" Run 'perf list'")[0]
        return re.split(r"(?<=[.?])\s", text, maxsplit=1)[0]
