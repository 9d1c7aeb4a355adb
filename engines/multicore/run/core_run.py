"""What all runs on the native core share: how they are set up, fail, are measured and end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from engines.available_memory import most_reserved_bytes
from engines.errors import EngineCrashError, EngineError
from engines.multicore import _core
from engines.multicore.run.results import LAG, LATENCY_UNDER_LOAD, SERVICE, histogram, progress
from engines.protocol import FULL, Measured, OfferedLoad, Sent
from workloads.model import Columns, Stream

UNKNOWN_ROWS = 1 << 20
"""With a load: output rows for which memory is touched where nobody knows how many there will be.
Fresh pages stop a core of a virtual machine for up to tens of milliseconds, which would be the tail
of the latency."""


class CoreRun:
    """One run, on columns in memory. A subclass makes `_core` in its set-up.

    Args:
        output: what the answer's records are.
        load: when records are due; None: all at once.
        measure: False leaves out latency and counts over time.
        expected_outputs: records in the answer, for which memory is there, and touched, before the
            run, up to a quarter of the memory available; None: not known. More of them are paid
            for during the run (`outputs_grown`).
    """

    SERVICE_KNOWN: ClassVar[bool] = True
    """Whether the core notes when a thread took what an output comes from."""

    def __init__(
        self,
        output: np.dtype[np.void],
        *,
        load: OfferedLoad | None,
        measure: bool,
        expected_outputs: int | None,
    ) -> None:
        self._output = output
        self._load = load
        self._measure = measure
        self._expected_outputs = expected_outputs
        self._core: Any = None

    def answer(self) -> Columns:
        """Return all outputs; see `Prepared.answer`."""
        core = self._open()
        rows = core.rows()
        columns: Columns = {
            name: np.empty(rows, dtype=self._output[name]) for name in self._output.names or ()
        }
        core.collect([column.ctypes.data for column in columns.values()])
        return columns

    def close(self) -> None:
        """Release the core, its threads and the input."""
        self._core = None

    def _reserved_rows(self, most: int = UNKNOWN_ROWS) -> int:
        """Return for how many output rows memory is touched, as far as the machine has it.

        Args:
            most: where it is not known how many there will be, and there is a load.
        """
        wanted = self._expected_outputs
        if wanted is None:
            wanted = 0 if self._load is None else most
        return min(wanted, most_reserved_bytes() // self._output.itemsize)

    def _open(self) -> Any:
        if self._core is None:
            raise EngineError("this run is closed")
        return self._core

    def _add_stream(self, index: int, stream: Stream, columns: object, *more: object) -> None:
        """Add stream `index` to the core, which borrows it; `more` follows its heartbeats."""
        if self._load is None:
            beats = np.ascontiguousarray(stream.heartbeats, dtype=np.int64)
            self._core.add_stream(stream.ts, columns, beats, *more)
            return
        self._core.add_stream(
            stream.ts,
            columns,
            self._load.heartbeat_ts[index],
            *more,
            self._load.due_ns[index],
            self._load.heartbeat_due_ns[index],
        )

    def _run_core(self) -> int:
        """Process the whole input; return the duration in ns.

        Raises:
            EngineCrashError: a thread failed; the message says which and how.
        """
        core = self._open()
        try:
            duration_ns: int = core.run()
        except RuntimeError as error:
            raise EngineCrashError(f"multicore: {error}") from error
        return duration_ns

    def _measured(self, plan: str, counters: dict[str, float], **more: Any) -> Measured:
        """Return what a run measured; `more` are further fields of `Measured`."""
        core = self._open()
        return Measured(
            events=core.events(),
            progress=progress(core) if self._measure else None,
            plan=plan,
            counters=counters,
            **more,
            **self._latencies(core),
        )

    def _counted(self) -> dict[str, float]:
        """Return the core's counters by name."""
        return {name: float(value) for name, value in self._open().counters().items()}

    def _latencies(self, core: Any) -> dict[str, Any]:
        """Return the latency fields of `Measured`, none where nothing was measured."""
        if not self._measure:
            return {}
        if self._load is None:
            return self._at_full_speed(core)
        latencies = {
            "latency": histogram(core.latency(), LATENCY_UNDER_LOAD),
            "warm_up_latency": histogram(core.warm_up(), LATENCY_UNDER_LOAD),
            "sent": Sent(events=core.emitted(), lag=histogram(core.lag(), LAG), own_thread=True),
        }
        if self.SERVICE_KNOWN:
            latencies["service_latency"] = histogram(core.service(), SERVICE)
        return latencies

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        """Return the latency fields of a run without a load; none unless a subclass has some."""
        return {}


@contextmanager
def set_up() -> Iterator[None]:
    """Name what the core says of a run that cannot be set up.

    Raises:
        EngineError: it refused the run.
        EngineCrashError: a function raised, or a thread could not be had.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        raise EngineError(f"the core refused the run: {error}") from error
    except RuntimeError as error:
        raise EngineCrashError(f"multicore: {error}") from error


def core_settings(
    *,
    workers: int,
    threads: int,
    batch: int,
    ring_blocks: int,
    pin: bool | None,
    load: OfferedLoad | None,
    reserved_rows: int,
    measure: bool,
) -> _core.RunSettings:
    """Return what every run is given, as the core takes it.

    Two new threads often start on one core and take turns there for longer than a run; so they
    are pinned where there is a core for each of several `threads`, unless `pin` says otherwise.
    """
    available = sorted(os.sched_getaffinity(0))
    pinned = 1 < threads <= len(available) if pin is None else pin
    return _core.RunSettings(
        workers=workers,
        batch=batch,
        ring_blocks=ring_blocks,
        cores=available if pinned else [],
        core_count=len(available),
        load=None if load is None else (load.warm_up_ns, load.end_ns, load.batching == FULL),
        reserved_rows=reserved_rows,
        measure=measure,
    )
