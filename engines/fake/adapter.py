"""The fake engine: gives the oracle's answer, unless its variant tells it to fail.

Under an offered load it pretends to be a server of known capacity, so that the verdicts on a rate,
and the search for the highest, can be tried against a known truth.
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
from dataclasses import dataclass, replace

import numpy as np

from streamlab.engines.base import BaseEngine
from streamlab.engines.conditions import MEMORY, WHOLE, Conditions
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.fake.damage import DAMAGES
from streamlab.engines.fake.options import FakeOptions, parse_options
from streamlab.engines.fake.server import scaled_at, serve
from streamlab.engines.protocol import (
    Elasticity,
    IntArray,
    Measured,
    OfferedLoad,
    Property,
    Task,
    Variant,
)
from streamlab.engines.recording import OpenRun, measured
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.datasets.time_cutoff import event_times
from streamlab.workloads.model import Columns, OutputType

_SUMMARIES = {
    "correct": "the oracle's answer",
    "lose": "one output is missing",
    "duplicate": "one output is there twice",
    "reorder": "two dependent outputs are swapped",
    "corrupt": "one output has a wrong field",
    "miscount": "the right answer, but one event is not accounted for",
    "hang": "never ends, and has a child in a session of its own",
    "crash": "raises an error while it runs",
    "babble": "raises an error whose text is no Unicode",
    "overcount": "the right answer, but more events than 64 bits can count, and a counter of nan",
    "unbounded": "the right answer, but an infinite load_cov, and source",
    "die": "its process is killed by a signal while it runs",
    "exhaust": "asks for more memory than there is",
    "hoard": "takes more and more memory, 2 GiB at most, until it is stopped",
    "leak": "the right answer, but leaves a process and a thread",
    "litter": "the right answer, but leaves a temporary file that cannot be removed",
    "mute": "the right answer, or option `says` as an error, with standard output and error closed",
}
_VARIANTS = tuple(
    Variant(
        name=name,
        summary=summary,
        takes_load=True,
        conditions=Conditions(unit=WHOLE, origin=MEMORY),
    )
    for name, summary in _SUMMARIES.items()
)
VIRTUAL = "virtual time: the load was computed, not waited for; the measured duration means nothing"
# More than any address space holds, so that asking for it fails at once and uses nothing.
_TOO_MUCH_BYTES = 1 << 60
# Enough for any memory limit of a test, and not too much for a machine without one.
_HOARD_BYTES, _HOARD_STEP_BYTES = 2 << 30, 64 << 20


class FakeEngine(BaseEngine):
    """Adapter of the fake engine; for its options see `streamlab.engines.fake.options`.

    Its variants are the ways to fail; the first does not.
    """

    name = "fake"
    known_variants = _VARIANTS
    most_workers = None

    def version(self) -> str:
        """Return the version of the fake's behaviour."""
        return "1"

    def wrong_options(self, variant: str, options: Mapping[str, object]) -> str | None:
        """Return what `parse_options` finds wrong, or None."""
        try:
            parse_options(options)
        except ValueError as error:
            return str(error)
        return None

    def refused(self, task: Task) -> str | None:
        """Return the option `refuse`."""
        return parse_options(task.options).refuse

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return that nothing holds, since nothing is computed."""
        none = Property(holds=False, why="the fake engine computes nothing")
        return {"PIP1": none, "PIP2": none, "PIP3": none}

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return None: the source is virtual, and no rate is too high for it; see `unbounded`."""
        return math.inf if variant == "unbounded" else None

    def start(self, task: Task) -> "FakePrepared":
        """Ask the oracle."""
        options = parse_options(task.options)
        if task.load is None:
            data = task.dataset.load()
            answer, offered = task.workload.oracle(data), None
        else:
            # The kept answer serves every cut of the input, i.e. every rate of a search.
            answer = expected(task.workload, task.dataset)
            offered = _Offered.of(
                task.load, event_times(task.dataset), answer["ts"].astype(np.int64)
            )
        return FakePrepared(
            variant=task.variant,
            answer=answer,
            output=task.workload.output,
            events=task.dataset.events,
            options=options,
            offered=offered,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offered:
    """A load in total order.

    Attributes:
        load: as the lab gave it.
        due_ns: int64[n], per event.
        made_by: int64[m], the event that makes each output: the last one with the output's event
            time, since an output does not say which of them it was; without any, the last one of
            the next time, which shows that the output's time has passed.
    """

    load: OfferedLoad
    due_ns: IntArray
    made_by: IntArray

    @classmethod
    def of(cls, load: OfferedLoad, times: tuple[IntArray, ...], output_ts: IntArray) -> "_Offered":
        ts = np.sort(np.concatenate(times), kind="stable")
        return cls(
            load=load,
            # Due times never decrease along the total order, so sorting gives it.
            due_ns=np.sort(np.concatenate(load.due_ns), kind="stable"),
            made_by=_last_at(ts, output_ts),
        )


def _last_at(ts: IntArray, output_ts: IntArray) -> IntArray:
    """Return the last event of the first time at or after each output's, or the last of all."""
    if not len(ts):
        return np.zeros(len(output_ts), dtype=np.int64)
    at = np.minimum(np.searchsorted(ts, output_ts, side="left"), len(ts) - 1)
    found: IntArray = np.searchsorted(ts, ts[at], side="right") - 1
    return found


class FakePrepared:
    """One prepared task of the fake engine."""

    def __init__(
        self,
        *,
        variant: str,
        answer: Columns,
        output: OutputType,
        events: int,
        options: FakeOptions,
        offered: _Offered | None,
    ) -> None:
        self._variant = variant
        self._answer = answer
        self._output = output
        self._events = events
        self._options = options
        self._offered = offered

    def run(self) -> Measured:
        """Pass the time, or fail as the variant says.

        Raises:
            EngineCrashError: the variant is `crash` or `babble`, nothing stops `hoard`, or `mute`
                has an error to raise.
        """
        found, lasts_s = self._serve()
        time.sleep(lasts_s)
        if self._variant == "hang":
            _start_sleeper()
            threading.Event().wait()
        if self._variant == "crash":
            raise EngineCrashError(
                self._options.says or "the fake engine crashed, as it was told to"
            )
        if self._variant == "babble":
            raise EngineCrashError("the fake engine said \udcff and [/red] \x1b[2J")
        if self._variant == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._variant == "exhaust":
            np.empty(_TOO_MUCH_BYTES, dtype=np.int8)
        if self._variant == "hoard":
            # Ones, not zeros: memory that was never written is not there.
            steps = range(_HOARD_BYTES // _HOARD_STEP_BYTES)
            hoard = [np.ones(_HOARD_STEP_BYTES, dtype=np.int8) for _ in steps]
            taken = sum(part.nbytes for part in hoard)
            raise EngineCrashError(f"the fake engine took {taken} bytes, and nobody stopped it")
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
            return replace(found, events=2**70, counters={"seen": math.nan, "lost": 1.0})
        if self._variant == "unbounded":
            uneven = Elasticity(
                reconfigurations=(),
                instances=np.ones(1, dtype=np.int64),
                comparisons=None,
                load_cov=np.array([math.inf]),
            )
            return replace(found, elasticity=uneven)
        return replace(found, events=self._events - (self._variant == "miscount"))

    def _serve(self) -> tuple[Measured, float]:
        """Return what the fake measures, and for how many seconds it pretends to work."""
        options = self._options
        if self._offered is None:
            lasts_s = self._events / options.served_eps
            return Measured(events=self._events, plan=options.plan), lasts_s
        due_ns = self._offered.due_ns
        sent_ns = due_ns + round(options.generator_lag_s * 1e9)
        served = serve(sent_ns, options)
        end_s = float(served.done_ns[-1]) / 1e9
        found = measured(
            OpenRun(
                due_ns=due_ns,
                taken_ns=served.taken_ns,
                done_ns=served.done_ns,
                made_by=self._offered.made_by,
                sent_ns=sent_ns if options.generator_lag_s else None,
            ),
            self._offered.load,
            plan=options.plan or (None if options.real_time else VIRTUAL),
            counters={} if options.real_time else {"virtual_end_s": end_s},
        )
        if options.scale_at_s is not None and found.progress is not None:
            scaled = scaled_at(round(options.scale_at_s * 1e9), found.progress)
            found = replace(found, elasticity=scaled)
        return found, end_s if options.real_time else 0.0

    def answer(self) -> Columns:
        """Return the oracle's answer, damaged as the variant says."""
        damage = DAMAGES.get(self._variant)
        return damage(self._answer, self._output) if damage else self._answer

    def close(self) -> None:
        """Do nothing; that is the point of `leak`."""


def _make_immutable_file() -> None:
    """Make a temporary file that cannot be removed; needs root and a file system such as ext4."""
    file, _ = tempfile.mkstemp(prefix="fake-litter-")
    # FS_IOC_SETFLAGS with FS_IMMUTABLE_FL, as the kernel declares them.
    fcntl.ioctl(file, 0x40086602, (0x10).to_bytes(4, sys.byteorder))
    os.close(file)


def _start_sleeper() -> None:
    """Start a process that outlives its parent unless somebody looks for it."""
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
