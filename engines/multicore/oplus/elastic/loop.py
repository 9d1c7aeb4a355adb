"""Runs a controller beside an elastic operator."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.oplus.elastic.controller import Controller, Settings
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.mapping import balanced_mapping
from streamlab.engines.multicore.oplus.elastic.observation import Observer, RawSnapshot
from streamlab.engines.protocol import Reconfiguration

IntArray = npt.NDArray[np.int64]

NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """What a completed change was like.

    Attributes:
        event_ts: the event time at which all instances switched.
        moved_bytes: state that was serialised and moved; 0 where state is shared.
    """

    event_ts: int
    moved_bytes: int = 0


class ElasticOperator(Protocol):
    """The running operator, called from the loop's thread only.

    Both calls leave the interpreter lock to others while they wait.
    """

    def snapshot(self) -> RawSnapshot | None:
        """Read the counters, in some microseconds; None once the input has ended."""

    def reconfigure(self, instances: int, mapping: IntArray) -> Switched | None:
        """Change to this many instances, and return when all of them have switched.

        Args:
            instances: how many, not those that are active now.
            mapping: int64[buckets], the instance of each bucket.

        Returns:
            How it went; None when the input ended before the switch, which then never happens.
        """


class ElasticLoop:
    """Looks at an operator once a period, and has it changed as the controller decides.

    Measures nothing itself but how long the calls of `reconfigure` take.

    Args:
        operator: what is observed and changed.
        controller: what decides.
        settings: bounds and period, from `controller.make`.
        maximum: most instances that the operator can have.
        mapping: int64[buckets], the mapping that it has now.
        window_s: its window's size, on the clock of its snapshots; 0 where it has none.
        clock: ns, any origin: what the calls are timed with.

    Attributes:
        reconfigurations: the completed changes, in order. Times are those of the snapshots' clock.
        decisions: what the controller said for each of them.
        mapping: the mapping now.
        looks: how often it looked.

    Raises:
        EngineError: the controller's bounds do not fit the operator's.
    """

    def __init__(
        self,
        operator: ElasticOperator,
        controller: Controller,
        settings: Settings,
        *,
        maximum: int,
        mapping: IntArray,
        window_s: float,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._minimum = settings.minimum
        self._maximum = maximum if settings.maximum is None else settings.maximum
        if self._maximum > maximum or self._minimum > maximum:
            raise EngineError(
                f"controller {settings.kind}: min is {self._minimum} and max is {self._maximum}, "
                f"and the operator can have at most {maximum} instances; lower them"
            )
        self._operator = operator
        self._controller = controller
        self._kind = settings.kind
        self._period_ns = round(settings.period_ms * NS_PER_MS)
        self._from_ns = round(settings.from_s * 1e9)
        self._clock = clock
        self._observer = Observer(window_s=window_s, minimum=self._minimum, maximum=self._maximum)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self.reconfigurations: list[Reconfiguration] = []
        self.decisions: list[Decision] = []
        self.mapping = mapping
        self.looks = 0

    def look(self) -> bool:
        """Look once, and do what the controller says.

        Returns:
            Whether there is anything left to look at.
        """
        raw = self._operator.snapshot()
        read_ns = self._clock()
        if raw is None:
            return False
        self.looks += 1
        seen = self._observer.look(raw)
        if raw.time_ns < self._from_ns:
            return True
        decision = None if seen is None else self._controller.decide(seen)
        asked = raw.instances if decision is None else decision.instances
        wanted = min(max(asked, self._minimum), self._maximum)
        if wanted == raw.instances:
            return True
        mapping = balanced_mapping(len(self.mapping), wanted, self.mapping)
        called_ns = self._clock()
        switched = self._operator.reconfigure(wanted, mapping)
        took_ns = self._clock() - called_ns
        if switched is None:
            return False
        self.mapping = mapping
        why = f"bounds {self._minimum} and {self._maximum}"
        self.decisions.append(decision or Decision(instances=wanted, why=why))
        self.reconfigurations.append(
            Reconfiguration(
                at_ns=raw.time_ns + called_ns - read_ns,
                duration_ns=took_ns,
                before=raw.instances,
                after=wanted,
                event_ts=switched.event_ts,
                moved_bytes=switched.moved_bytes,
            )
        )
        return True

    def start(self) -> None:
        """Look once a period, in a thread of its own, from now on until the input ends."""
        self._thread = threading.Thread(target=self._run, name="elastic-loop", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """End the thread, after the call that it is in. May be called twice.

        Raises:
            EngineError: the controller said that it cannot do its work here.
            EngineCrashError: the controller or the operator failed, or a call does not return.
        """
        self._stopping.set()
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise EngineCrashError(
                f"controller {self._kind}: a call of the operator has not returned for "
                f"{timeout_s:g} s"
            )
        failure, self._failure = self._failure, None
        if isinstance(failure, EngineError):
            raise failure
        if failure is not None:
            raise EngineCrashError(
                f"controller {self._kind} failed at look {self.looks}: {failure!r}"
            ) from failure

    def _run(self) -> None:
        try:
            due_ns = self._clock()
            while True:
                # Looks that were due during a long one are left out, not made up for.
                missed = max(0, self._clock() - due_ns) // self._period_ns
                due_ns += (missed + 1) * self._period_ns
                if self._stopping.wait(max(0, due_ns - self._clock()) / 1e9) or not self.look():
                    return
        except BaseException as failure:
            self._failure = failure
