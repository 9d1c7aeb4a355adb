"""Provides the base class of native runs, and turns the core's errors into engine errors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from streamlab.engines.errors import (
    EngineCrashError,
    EngineError,
    OutOfMemoryError,
    UnsupportedError,
)
from streamlab.engines.multicore.kernels.bounds import OutOfBoundsError
from streamlab.engines.multicore.kernels.exceptions import collect_exceptions
from streamlab.engines.multicore.run.results import (
    LAG,
    LATENCY_UNDER_LOAD,
    SERVICE,
    histogram,
    progress,
)
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import IntArray, Measured, OfferedLoad, Sent
from streamlab.workloads.model import Columns, Stream
from streamlab.workloads.model.errors import place_of


class CoreRun:
    """Runs a program once on columns in memory. A subclass creates `_core` in its constructor.

    Constructors of subclasses take the program, its input, the settings of the run and the options of the variant. They
    raise UnsupportedError if the core cannot run the program on the input with these options, and EngineError if a
    function does not compile or an option is out of range.
    """

    HAS_SERVICE_LATENCY: ClassVar[bool] = True
    """Whether the core records when a worker took an output's input (service latency)."""
    FULL_SPEED: ClassVar[tuple[str, str] | None] = None
    """Name and definition of the core's histogram of latencies without a load; None if the core measures none."""

    def __init__(self, output: np.dtype[np.void], settings: RunSettings) -> None:
        self._output = output
        self._settings = settings
        self._core: Any = None
        self.check_input: Callable[[], object] | None = None
        """Called from time to time if events arrive from outside; an exception ends the run."""

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        counters = self._counters(self._run_core())
        return self._build_measured(self._plan(counters), counters)

    def answer(self) -> Columns:
        """Return all outputs; see `Prepared.answer`."""
        core = self._open()
        rows = core.rows()
        columns: Columns = {
            name: np.empty(rows, dtype=self._output[name]) for name in self._output.names or ()
        }
        core.collect([column.ctypes.data for column in columns.values()])
        return columns

    def receive(self, stream: int, rows: int, heartbeats: int) -> None:
        """State how many rows and heartbeats of a stream have arrived; see `RunSettings.received`."""
        self._open().receive(stream, rows, heartbeats)

    def start_ns(self) -> int:
        """Return when the run began, in ns of the monotonic clock; 0 before."""
        start: int = self._open().start_ns()
        return start

    def close(self) -> None:
        """Release the core, its threads and the input."""
        self._core = None

    def _open(self) -> Any:
        if self._core is None:
            raise EngineError("this run is closed")
        return self._core

    def _add_stream(
        self,
        index: int,
        stream: Stream,
        columns: object,
        *arguments: object,
        add: Callable[..., object] | None = None,
    ) -> None:
        """Add a stream to the core, which borrows its arrays.

        `add` replaces the core's `add_stream`. It gets `arguments` after the heartbeats.
        """
        if self._settings.received:
            _check_borrowed(stream, columns)
        heartbeats, *due = stream_times(index, stream, self._settings.load)
        (add or self._core.add_stream)(stream.ts, columns, heartbeats, *arguments, *due)

    def _run_core(self) -> int:
        """Process the whole input; return the duration in ns.

        Raises:
            EngineCrashError: a thread failed; the message names it and its error.
            OutOfMemoryError: a thread could not allocate memory.
        """
        core = self._open()
        with crash_errors():
            try:
                duration_ns: int = core.run(self.check_input)
            except MemoryError as error:
                raise OutOfMemoryError(f"multicore: {error}") from error
        return duration_ns

    def _build_measured(self, plan: str, counters: dict[str, float], **fields: Any) -> Measured:
        """Return the measurements of a finished run, with further fields of `Measured`."""
        core = self._open()
        return Measured(
            events=core.events(),
            progress=progress(core) if self._settings.measure else None,
            plan=plan,
            counters=counters,
            **fields,
            **self._latencies(core),
        )

    def _plan(self, counters: Mapping[str, float]) -> str:
        """Return how the core ran the program, as text. A family that overrides `run` need not override this."""
        raise AssertionError(f"{type(self).__name__} inherits `run`, so it must override `_plan`")

    def _counters(self, duration_ns: int) -> dict[str, float]:
        """Return the counters of a finished run by name."""
        return self._read_counters()

    def _read_counters(self) -> dict[str, float]:
        """Return the core's counters by name."""
        return {name: float(value) for name, value in self._open().counters().items()}

    def _latencies(self, core: Any) -> dict[str, Any]:
        """Return the latency fields of `Measured`; empty without the option `measure`."""
        if not self._settings.measure:
            return {}
        if self._settings.load is None:
            if self.FULL_SPEED is None:
                return {}
            name, definition = self.FULL_SPEED
            return {"latency": histogram(getattr(core, name)(), definition)}
        latencies = {
            "latency": histogram(core.latency(), LATENCY_UNDER_LOAD),
            "warm_up_latency": histogram(core.warm_up(), LATENCY_UNDER_LOAD),
            "sent": Sent(events=core.emitted(), lag=histogram(core.lag(), LAG), own_thread=True),
        }
        if self.HAS_SERVICE_LATENCY:
            latencies["service_latency"] = histogram(core.service(), SERVICE)
        return latencies


def _check_borrowed(stream: Stream, columns: Any) -> None:
    """Raise UnsupportedError if the core would copy a column, because rows from outside would not reach the copy."""
    arrays = [column for column in stream.payload.values() if isinstance(column, np.ndarray)]
    for column in columns:
        if column is None or any(np.may_share_memory(column, array) for array in arrays):
            continue
        if np.any(column):
            raise UnsupportedError(
                f"stream {stream.name} has a column that the core reads in another type, so its rows "
                "cannot arrive during the run; remove the option broker"
            )


def stream_times(index: int, stream: Stream, load: OfferedLoad | None) -> Sequence[IntArray]:
    """Return a stream's heartbeats for the core; under a load also the due times of its events and heartbeats."""
    if load is None:
        return (np.ascontiguousarray(stream.heartbeats, dtype=np.int64),)
    return load.heartbeat_ts[index], load.due_ns[index], load.heartbeat_due_ns[index]


@contextmanager
def setup_errors() -> Iterator[None]:
    """Turn the core's set-up errors into engine errors.

    Raises:
        EngineError: the core refused the run.
        EngineCrashError: a user's function raised, or the core could not start a thread.
        OutOfMemoryError: the run needs more memory than the machine has.
    """
    with crash_errors():
        try:
            yield
        except MemoryError as error:
            raise OutOfMemoryError(
                f"multicore: no memory to set up the run ({error}); use fewer workers, buckets of keys or "
                "overlapping windows, smaller rings, or a machine with more memory"
            ) from error
        except (ValueError, TypeError) as error:
            raise EngineError(f"the core refused the run: {error}") from error


@contextmanager
def crash_errors() -> Iterator[None]:
    """Turn the core's crashes into engine errors that name the exception of the user's function.

    Raises:
        EngineCrashError: the core failed in any of its threads.
    """
    with collect_exceptions() as raised:
        try:
            yield
        except RuntimeError as error:
            if not raised or "raised an exception" not in str(error):
                raise EngineCrashError(f"multicore: {error}") from error
            first = raised[0]
            has_place = first.__traceback__ is not None and not isinstance(first, OutOfBoundsError)
            where = f", in {place_of(first)}" if has_place else ""
            raise EngineCrashError(
                f"multicore: {error}: {type(first).__name__}: {first}{where}"
            ) from first
