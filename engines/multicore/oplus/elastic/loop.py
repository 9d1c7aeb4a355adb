"""Runs a controller in parallel to an elastic operator."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.oplus.elastic.controller import Settings
from streamlab.engines.multicore.oplus.elastic.decision import Controller, Decision
from streamlab.engines.multicore.oplus.elastic.mapping import (
    IntArray,
    balanced_mapping,
    checked_mapping,
    instance_set,
)
from streamlab.engines.multicore.oplus.elastic.observation import Observer, RawSnapshot
from streamlab.engines.protocol import Reconfiguration

NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A completed change of instances or mapping, at an event time."""

    event_ts: int
    moved_bytes: int = 0  # bytes of state that were serialised and moved; 0 if state is shared


class ElasticOperator(Protocol):
    """A running operator. Only the loop's thread calls it; both methods release the GIL while they wait."""

    def snapshot(self) -> RawSnapshot | None:
        """Return the counters (takes some us); None once the input has ended."""

    def reconfigure(self, instances: tuple[int, ...], mapping: IntArray) -> Switch | None:
        """Change instances and mapping, and return when all instances have switched.

        `instances` are the indices of the active instances, ascending. `mapping`, int64[buckets], is
        the instance of each bucket. Returns None if the input ended before, so that no change happened.
        """


class ElasticLoop:
    """Observes an operator once a period, and changes it as the controller decides.

    Args:
        operator, controller, settings: the operator, and what `controller.make_controller` returned.
        maximum: maximum number of the operator's instances; all indices are below this number.
        mapping: current mapping, int64[buckets].
        window_s: size of the operator's window, on the clock of its snapshots; 0 without a window.
        clock: clock in ns of any origin, which times the calls of `reconfigure`.

    Attributes:
        reconfigurations: completed changes, in order, with times on the snapshots' clock.
        decisions: the controller's decision for each change.
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
        self._minimum = settings.min
        self._maximum = maximum if settings.max is None else settings.max
        self._threads = maximum
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
        self.mapping = _read_only(mapping.copy())
        self.looks = 0

    def look(self) -> bool:
        """Observe the operator once, and change it as the controller decides; return False at the input's end."""
        raw = self._operator.snapshot()
        read_ns = self._clock()
        if raw is None:
            return False
        self.looks += 1
        observation = self._observer.look(raw, self.mapping)
        if raw.time_ns < self._from_ns:
            return True
        decision = None if observation is None else self._controller.decide(observation)
        try:
            instances = self._next_instances(raw.active, decision)
            mapping = _read_only(self._next_mapping(raw.active, instances, decision))
        except (EngineError, ValueError) as error:
            raise EngineError(f"controller {self._kind}: {error}") from error
        if instances == raw.active and np.array_equal(mapping, self.mapping):
            return True
        called_ns = self._clock()
        switched = self._operator.reconfigure(instances, mapping)
        took_ns = self._clock() - called_ns
        if switched is None:
            return False
        self.mapping = mapping
        why = f"bounds {self._minimum} and {self._maximum}"
        self.decisions.append(decision or Decision(instances=len(instances), why=why))
        self.reconfigurations.append(
            Reconfiguration(
                at_ns=raw.time_ns + called_ns - read_ns,
                duration_ns=took_ns,
                before=raw.instances,
                after=len(instances),
                event_ts=switched.event_ts,
                moved_bytes=switched.moved_bytes,
                active=instances,
            )
        )
        return True

    def _next_instances(
        self, before: tuple[int, ...], decision: Decision | None
    ) -> tuple[int, ...]:
        """Return the instances of a decision: a number limited to the bounds, or a set within them."""
        if decision is None:
            limited = self._limit(len(before))
            return before if limited == len(before) else instance_set(limited)
        if isinstance(decision.instances, (int, np.integer)):
            return instance_set(self._limit(int(decision.instances)))
        instances = instance_set(decision.instances)
        if self._limit(len(instances)) != len(instances):
            raise EngineError(
                f"{len(instances)} named instances are not within the bounds {self._minimum} and "
                f"{self._maximum} that each observation states"
            )
        if instances[-1] >= self._threads:
            raise EngineError(
                f"instance {instances[-1]} does not exist; name instances from 0 to "
                f"{self._threads - 1}, or raise max_instances"
            )
        return instances

    def _limit(self, count: int) -> int:
        return min(max(count, self._minimum), self._maximum)

    def _next_mapping(
        self, before: tuple[int, ...], instances: tuple[int, ...], decision: Decision | None
    ) -> IntArray:
        if decision is None or decision.mapping is None:
            if instances == before:
                return self.mapping
            return balanced_mapping(len(self.mapping), instances, self.mapping)
        if (
            isinstance(decision.instances, (int, np.integer))
            and len(instances) != decision.instances
        ):
            raise EngineError(
                f"a mapping to {decision.instances} instances is not within the bounds "
                f"{self._minimum} and {self._maximum} that each observation states"
            )
        return checked_mapping(decision.mapping, len(self.mapping), instances)

    def start(self) -> None:
        """Start a thread that observes once a period until the input ends."""
        self._thread = threading.Thread(target=self._run, name="elastic-loop", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stop the thread after its current call, with a maximum wait. A second call has no effect.

        Raises:
            EngineError: the controller raised it, because the controller cannot work with this operator.
            EngineCrashError: the controller or the operator failed, or a call did not return in time.
        """
        self._stopping.set()
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise EngineCrashError(
                f"controller {self._kind}: a call of the operator has not returned for "
                f"{timeout_s:g} s; run again, or run without a controller"
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
                # Skip observations that became due during a long observation.
                missed = max(0, self._clock() - due_ns) // self._period_ns
                due_ns += (missed + 1) * self._period_ns
                if self._stopping.wait(max(0, due_ns - self._clock()) / 1e9) or not self.look():
                    return
        except BaseException as failure:
            self._failure = failure


def _read_only(mapping: IntArray) -> IntArray:
    """Forbid changes in place, so that no controller mistakes such a change for a request."""
    mapping.flags.writeable = False
    return mapping
