"""The fake engine: gives the oracle's answer, unless its variant tells it to fail."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from engines.errors import EngineCrashError, UnsupportedError
from engines.fake.damage import DAMAGES
from engines.protocol import Measured, Property, Task, Variant
from workloads.model import Columns, OutputType

_VARIANTS = (
    Variant(name="correct", summary="the oracle's answer"),
    Variant(name="lose", summary="one output is missing"),
    Variant(name="duplicate", summary="one output is there twice"),
    Variant(name="reorder", summary="two dependent outputs are swapped"),
    Variant(name="corrupt", summary="one output has a wrong field"),
    Variant(name="miscount", summary="the right answer, but one event is not accounted for"),
    Variant(name="hang", summary="never ends, and has a child in a session of its own"),
    Variant(name="crash", summary="raises an error while it runs"),
    Variant(name="die", summary="its process is killed by a signal while it runs"),
    Variant(name="exhaust", summary="asks for more memory than there is"),
    Variant(name="leak", summary="the right answer, but leaves a process and a thread"),
)
# More than any address space holds, so that asking for it fails at once and uses nothing.
_TOO_MUCH_BYTES = 1 << 60


class FakeEngine:
    """Options: `rate_eps` (pretend to be that fast), `refuse` (be unsupported for that reason)."""

    name: ClassVar[str] = "fake"

    def version(self) -> str:
        """Return the version of the fake's behaviour."""
        return "1"

    def variants(self) -> tuple[Variant, ...]:
        """Return the ways to fail; the first does not."""
        return _VARIANTS

    def unsupported(self, task: Task) -> str | None:
        """Return the option `refuse`, or what is wrong with the others."""
        unknown = sorted(set(task.options) - {"rate_eps", "refuse"})
        if unknown:
            return f"unknown options {', '.join(unknown)}; there are rate_eps and refuse"
        rate = task.options.get("rate_eps", 1)
        if isinstance(rate, bool) or not isinstance(rate, int | float) or rate <= 0:
            return f"option rate_eps is {rate!r}; it must be a number above 0"
        if task.variant not in {variant.name for variant in _VARIANTS}:
            return f"no variant {task.variant!r}"
        reason = task.options.get("refuse")
        return None if reason is None else str(reason)

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return that nothing holds, since nothing is computed."""
        none = Property(holds=False, why="the fake engine computes nothing")
        return {"PIP1": none, "PIP2": none, "PIP3": none}

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return None: no variant takes a load yet."""
        return None

    def prepare(self, task: Task) -> "FakePrepared":
        """Ask the oracle.

        Raises:
            UnsupportedError: as `unsupported` says.
        """
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        data = task.dataset.load()
        rate = task.options.get("rate_eps")
        assert rate is None or isinstance(rate, int | float)
        return FakePrepared(
            variant=task.variant,
            answer=task.workload.oracle(data),
            output=task.workload.output,
            events=data.events,
            duration_s=data.events / rate if rate else 0.0,
        )


class FakePrepared:
    """One prepared task of the fake engine."""

    def __init__(
        self, *, variant: str, answer: Columns, output: OutputType, events: int, duration_s: float
    ) -> None:
        self._variant = variant
        self._answer = answer
        self._output = output
        self._events = events
        self._duration_s = duration_s

    def run(self) -> Measured:
        """Pass the time, or fail as the variant says.

        Raises:
            EngineCrashError: the variant is `crash`.
        """
        time.sleep(self._duration_s)
        if self._variant == "hang":
            _start_sleeper()
            threading.Event().wait()
        if self._variant == "crash":
            raise EngineCrashError("the fake engine crashed, as it was told to")
        if self._variant == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._variant == "exhaust":
            np.empty(_TOO_MUCH_BYTES, dtype=np.int8)
        if self._variant == "leak":
            _start_sleeper()
            threading.Thread(target=threading.Event().wait, name="fake-leak").start()
        return Measured(events=self._events - (self._variant == "miscount"))

    def answer(self) -> Columns:
        """Return the oracle's answer, damaged as the variant says."""
        damage = DAMAGES.get(self._variant)
        return damage(self._answer, self._output) if damage else self._answer

    def close(self) -> None:
        """Do nothing; that is the point of `leak`."""


def _start_sleeper() -> None:
    """Start a process that outlives its parent unless somebody looks for it."""
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
