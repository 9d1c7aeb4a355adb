"""Implements the fake engine: returns the oracle's answer, or fails as its variant requires.

Under an offered load it simulates a server of known capacity, so tests know the right verdict on each rate, and the
highest rate that a search should find.
"""

import fcntl
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from streamlab.engines.base import BaseEngine
from streamlab.engines.conditions import MEMORY, WHOLE, Conditions
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.fake.damage import DAMAGES
from streamlab.engines.fake.server import FakeOptions, scaled_at, serve
from streamlab.engines.options import options_of
from streamlab.engines.protocol import (
    Elasticity,
    IntArray,
    Measured,
    Property,
    Task,
    Variant,
)
from streamlab.engines.recording import OpenRun, measured
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.datasets.time_cutoff import event_times
from streamlab.workloads.model import Columns
from streamlab.workloads.model.operators.program import arrival_tick_ns
from streamlab.workloads.model.reference import answer_of

_SUMMARIES = {
    "correct": "the oracle's answer",
    "lose": "one output is missing",
    "duplicate": "one output appears twice",
    "reorder": "two dependent outputs are swapped",
    "corrupt": "one output has a wrong field",
    "miscount": "the right answer, but one event is not counted",
    "hang": "never ends, and has a child in a separate session",
    "crash": "raises an error while it runs",
    "babble": "raises an error whose text is not Unicode",
    "overcount": "the right answer, but more events than 64 bits can count, and a counter of nan",
    "unbounded": "the right answer, but an infinite load_cov and an infinite generator ceiling",
    "die": "its process is killed by a signal while it runs",
    "exhaust": "requests more memory than any machine has",
    "hoard": "takes more and more memory, at most 2 GiB, until it is stopped",
    "leak": "the right answer, but leaves a process and a thread",
    "litter": "the right answer, but leaves a temporary file that cannot be removed",
    "mute": "the right answer, or option `says` as an error, with standard output and error closed",
}
_VARIANTS = tuple(
    Variant(
        name=name,
        summary=summary,
        takes_load=True,
        stamps_arrivals=True,
        conditions=Conditions(unit=WHOLE, origin=MEMORY),
        options=FakeOptions,
        colour=3,
    )
    for name, summary in _SUMMARIES.items()
)
VIRTUAL = "virtual time: the load was computed at once; the measured duration means nothing"
_TOO_MUCH_BYTES = 1 << 60
"""More than any address space, so that the request fails at once and uses no memory."""
_HOARD_BYTES, _HOARD_STEP_BYTES = 2 << 30, 64 << 20
"""Above any memory limit of a test, and not too much for a machine without a limit."""


class FakeEngine(BaseEngine):
    """Returns the oracle's answer, or fails as its variant requires; its options are `FakeOptions`."""

    name = "fake"
    known_variants = _VARIANTS
    max_workers = None

    def version(self) -> str:
        """Return the version of the fake's behaviour."""
        return "1"

    def refused(self, task: Task) -> str | None:
        """Return the value of the option `refuse`."""
        return options_of(task, FakeOptions).refuse

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return that no property holds, since the engine computes nothing."""
        no_property = Property(holds=False, why="the fake engine computes nothing")
        return {"PIP1": no_property, "PIP2": no_property, "PIP3": no_property}

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return None, since the source is virtual; for variant `unbounded` infinity."""
        return math.inf if variant == "unbounded" else None

    def start(self, task: Task) -> "FakePrepared":
        """Compute the oracle's answer."""
        if task.load is None:
            return FakePrepared(task, task.workload.oracle(task.dataset.load()), ())
        query, tick_ns = task.workload.program, arrival_tick_ns(task.workload.program)
        if tick_ns is None:
            # The cached answer serves every truncation of the input, i.e. every rate of a search.
            answer = expected(task.workload, task.dataset)
            return FakePrepared(task, answer, event_times(task.dataset))
        data = task.dataset.load()
        times = tuple(
            due_ns // tick_ns for due_ns in task.load.due_ns
        )  # each event arrives when due
        streams = zip(data.streams, times, strict=True)
        arriving_streams = tuple(
            replace(stream, ts=ts, heartbeats=stream.heartbeats[:0]) for stream, ts in streams
        )
        return FakePrepared(task, answer_of(query, replace(data, streams=arriving_streams)), times)


class FakePrepared:
    """One prepared task of the fake engine."""

    def __init__(self, task: Task, answer: Columns, times: tuple[IntArray, ...]) -> None:
        """Store the answer; `times` are the times of each stream's events, empty without a load."""
        self._variant = task.variant
        self._answer = answer
        self._output = task.workload.output
        self._events = task.dataset.events
        self._options = options_of(task, FakeOptions)
        self._load = task.load
        if task.load is not None:
            # Due times never decrease along the total order, so sorting them restores it.
            self._due_ns = np.sort(np.concatenate(task.load.due_ns), kind="stable")
            self._made_by = _causes(times, answer["ts"].astype(np.int64))

    def run(self) -> Measured:
        """Wait for the simulated time, or fail as the variant requires."""
        result, duration_s = self._serve()
        time.sleep(duration_s)
        if self._variant == "hang":
            _start_sleeper()
            threading.Event().wait()
        if self._variant == "crash":
            raise EngineCrashError(
                self._options.says or "the fake engine crashed, as its variant requires"
            )
        if self._variant == "babble":
            raise EngineCrashError("the fake engine said \udcff and [/red] \x1b[2J")
        if self._variant == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._variant == "exhaust":
            np.empty(_TOO_MUCH_BYTES, dtype=np.int8)
        if self._variant == "hoard":
            # Ones, not zeros: only memory that was written counts as used.
            steps = range(_HOARD_BYTES // _HOARD_STEP_BYTES)
            hoard = [np.ones(_HOARD_STEP_BYTES, dtype=np.int8) for _ in steps]
            size = sum(part.nbytes for part in hoard)
            raise EngineCrashError(f"the fake engine took {size} bytes and was not stopped")
        if self._variant == "leak":
            _start_sleeper()
            threading.Thread(target=threading.Event().wait, name="fake-leak").start()
        if self._variant == "litter":
            _make_immutable_file()
        if self._variant == "mute":
            os.close(1)
            os.close(2)
            if self._options.says:
                raise EngineCrashError(self._options.says)
        if self._variant == "overcount":
            return replace(result, events=2**70, counters={"seen": math.nan, "lost": 1.0})
        if self._variant == "unbounded":
            uneven = Elasticity(
                reconfigurations=(),
                instances=np.ones(1, dtype=np.int64),
                comparisons=None,
                load_cov=np.array([math.inf]),
            )
            return replace(result, elasticity=uneven)
        return replace(result, events=self._events - (self._variant == "miscount"))

    def _serve(self) -> tuple[Measured, float]:
        """Return the simulated measurements, and the simulated duration in s."""
        options = self._options
        if self._load is None:
            duration_s = self._events / options.served_eps
            return Measured(events=self._events, plan=options.plan), duration_s
        sent_ns = self._due_ns + round(options.generator_lag_s * 1e9)
        service_times = serve(sent_ns, options)
        end_s = float(service_times.done_ns[-1]) / 1e9
        result = measured(
            OpenRun(
                due_ns=self._due_ns,
                taken_ns=service_times.taken_ns,
                done_ns=service_times.done_ns,
                made_by=self._made_by,
                sent_ns=sent_ns if options.generator_lag_s else None,
            ),
            self._load,
            plan=options.plan or (None if options.real_time else VIRTUAL),
            counters={} if options.real_time else {"virtual_end_s": end_s},
        )
        if options.scale_at_s is not None and result.progress is not None:
            scaled = scaled_at(round(options.scale_at_s * 1e9), result.progress)
            result = replace(result, elasticity=scaled)
        return result, end_s if options.real_time else 0.0

    def answer(self) -> Columns:
        """Return the oracle's answer, damaged as the variant requires."""
        damage = DAMAGES.get(self._variant)
        return damage(self._answer, self._output) if damage else self._answer

    def close(self) -> None:
        """Do nothing, so that `leak` leaves its process and thread."""


def _causes(times: tuple[IntArray, ...], output_ts: IntArray) -> IntArray:
    """Return, for each output, the index in total order of the event that makes it.

    This is the last event at the first time at or after the output's time: the next event shows that the time has
    passed.
    """
    ts = np.sort(np.concatenate(times))
    if not len(ts):
        return np.zeros(len(output_ts), dtype=np.int64)
    event = np.minimum(np.searchsorted(ts, output_ts, side="left"), len(ts) - 1)
    return np.searchsorted(ts, ts[event], side="right").astype(np.int64) - 1


def _make_immutable_file() -> None:
    """Make a temporary file that cannot be removed; needs root and a file system such as ext4."""
    file, _ = tempfile.mkstemp(prefix="fake-litter-")
    # FS_IOC_SETFLAGS with FS_IMMUTABLE_FL, from the kernel's headers.
    fcntl.ioctl(file, 0x40086602, (0x10).to_bytes(4, sys.byteorder))
    os.close(file)


def _start_sleeper() -> None:
    """Start a process that outlives its parent unless it is killed."""
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
