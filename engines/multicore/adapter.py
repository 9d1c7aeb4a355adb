"""The adapter of the multicore engine."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from engines.errors import EngineCrashError, EngineError, UnsupportedError
from engines.multicore import _core
from engines.multicore.kernels.compile import Kernels
from engines.multicore.wiring import Wiring
from engines.protocol import (
    FULL,
    Histogram,
    Measured,
    OfferedLoad,
    Progress,
    Property,
    Sent,
    Task,
    Variant,
)
from workloads.model import Columns, DGSProgram, Input, PlanError, Workload
from workloads.model.optimizer import choose_plan
from workloads.model.plan import Plan
from workloads.model.profile import profile
from workloads.model.render import plan_text
from workloads.model.validity import check_plan

MAX_WORKERS = 64
RING_BLOCKS = 64
LOAD_RING_BLOCKS = 1 << 14
"""With a load: small blocks come one by one, and a stream may wait long for another's heartbeat."""
LEAST_LOAD_RING_BLOCKS = 1 << 10
"""A full ring is looked at every 50 us: 64 blocks of one event were 0.2 to 1 M events/s."""
RESERVED_BYTES = 512 << 20
"""With a load: most memory for outputs that is touched before the clock starts. Fresh pages stop a
core of a virtual machine for up to tens of milliseconds, which would be the tail of the latency."""
MAX_RING_BLOCKS = 1 << 20
LATENCY = (
    "from the publication of the latest input block that the output depends on to its emission; "
    "at full speed, so it is the engine's own delay, not queueing at an offered rate"
)
LATENCY_UNDER_LOAD = (
    "from the due time of the latest input event that the output depends on to its emission, "
    "warm-up left out"
)
SERVICE = "from when a worker took the input to the emission of the output: no waiting in it"
LAG = "from due to handed over; events handed over together count with the lag of the first"
CEILING_EVENTS = 20_000_000
"""Events for measuring the generator's ceiling: about a second at batch 1."""
_OPTIONS = {"pin": bool, "ring_blocks": int, "measure": bool}


class MulticoreEngine:
    """Runs DGS programs natively on the cores of one machine."""

    name: ClassVar[str] = "multicore"

    def version(self) -> str:
        """Return the version of the lab, of which the core is a part."""
        return version("stream-lab")

    def variants(self) -> tuple[Variant, ...]:
        """Return the variants."""
        summary = (
            "synchronization plans over shared memory, kernels compiled from the Python program"
        )
        return (Variant(name="dgs", summary=summary, uses_batch=True, takes_load=True),)

    def unsupported(self, task: Task) -> str | None:
        """Return why a task cannot run, or None."""
        if not 1 <= task.workers <= MAX_WORKERS:
            return f"workers must be between 1 and {MAX_WORKERS}, got {task.workers}"
        if task.variant != "dgs":
            return f"no variant {task.variant!r}; there is dgs"
        blocks = task.options.get(
            "ring_blocks", RING_BLOCKS if task.load is None else LOAD_RING_BLOCKS
        )
        if type(blocks) is int and not 1 <= blocks <= MAX_RING_BLOCKS:
            return f"ring_blocks must be between 1 and {MAX_RING_BLOCKS}, got {blocks}"
        for option, value in task.options.items():
            if option not in _OPTIONS:
                return f"no option {option!r}; there are {', '.join(_OPTIONS)}"
            if type(value) is not _OPTIONS[option]:
                return f"option {option} takes {_OPTIONS[option].__name__}, got {value!r}"
        least = LEAST_LOAD_RING_BLOCKS
        if task.load is not None and isinstance(blocks, int) and blocks < least:
            return (
                f"ring_blocks must be at least {least} under a load, got {blocks}: the generator "
                "would wait for room, and the engine be blamed for it"
            )
        if task.load is not None and not task.options.get("measure", True):
            return "measure = false is for catch-up: an offered load is there to be measured"
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3, which hold by construction of the model."""
        return {
            "PIP1": Property(holds=True, why="the program does not mention the number of workers"),
            "PIP2": Property(holds=True, why="the plan, not the program, maps streams to workers"),
            "PIP3": Property(holds=True, why="only update, fork and join are used"),
        }

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return how many events/s the generator hands to a reader that only gives them back."""
        duration_ns, _ = _core.try_generator(CEILING_EVENTS, batch, 0.0)
        return CEILING_EVENTS / duration_ns * 1e9

    def prepare(self, task: Task) -> "MulticoreRun":
        """Load the input, choose and check the plan, compile, and start the threads.

        Raises:
            UnsupportedError: see `unsupported`.
            EngineError: the program does not compile or its plan is not valid.
        """
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        pin = task.options.get("pin")
        return MulticoreRun(
            task.workload,
            task.dataset.load(),
            workers=task.workers,
            batch=task.batch,
            pin=None if pin is None else bool(pin),
            ring_blocks=int(
                str(
                    task.options.get(
                        "ring_blocks", RING_BLOCKS if task.load is None else LOAD_RING_BLOCKS
                    )
                )
            ),
            load=task.load,
            measure=bool(task.options.get("measure", True)),
        )


class MulticoreRun:
    """One run on columns in memory. Usable without a dataset: tests and benchmarks do."""

    def __init__(
        self,
        workload: Workload,
        data: Input,
        *,
        workers: int,
        batch: int,
        pin: bool | None = None,
        ring_blocks: int = RING_BLOCKS,
        plan: Plan | None = None,
        load: OfferedLoad | None = None,
        measure: bool = True,
    ) -> None:
        program = workload.program
        profiles = profile(data)
        try:
            self.plan = plan or choose_plan(program, data.alphabet, profiles, workers)
            check_plan(self.plan, profiles)
        except PlanError as error:
            raise EngineError(str(error)) from error
        self._output = program.output
        self._plan_text = plan_text(self.plan)
        fields = [program.output[name] for name in program.output.names or ()]
        available = sorted(os.sched_getaffinity(0))
        # Two new threads often start on one core and take turns there for longer than a run.
        pinned = 1 < workers <= len(available) if pin is None else pin
        try:
            core = _core.Core(
                workers,
                batch,
                ring_blocks,
                program.max_outputs_per_event,
                [field.itemsize for field in fields],
                available if pinned else [],
                workers > len(available),
                None if load is None else (load.warm_up_ns, load.end_ns, load.batching == FULL),
                workers < len(available),
                0 if load is None else _rows_to_reserve(program, data.events, workers),
                measure,
            )
            self._load, self._measure = load, measure
            self._wiring: Wiring | None = Wiring(core, self.plan, data, Kernels(program), load)
            self._wiring.build()
            core.start()
        except (ValueError, TypeError) as error:
            raise EngineError(f"the core refused the run: {error}") from error
        except RuntimeError as error:  # a fork raised, or a thread could not be had
            raise EngineCrashError(f"multicore: {error}") from error

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: a worker failed; the message says how.
        """
        core = self._open()
        try:
            core.run()
        except RuntimeError as error:
            raise EngineCrashError(f"multicore: {error}") from error
        counters = {name: float(value) for name, value in core.counters().items()}
        sync = _histogram(core.sync(), "from the last leaf's arrival to its going on")
        if len(sync.counts):
            counters["sync_median_ns"] = float(_median(sync))
        return Measured(
            events=core.events(),
            progress=_progress(core) if self._measure else None,
            plan=self._plan_text,
            counters=counters,
            **self._under_load(core),
        )

    def _under_load(self, core: "_core.Core") -> dict[str, Any]:
        if not self._measure:
            return {}
        if self._load is None:
            return {"latency": _histogram(core.latency(), LATENCY)}
        sent = Sent(events=core.emitted(), lag=_histogram(core.lag(), LAG), own_thread=True)
        return {
            "latency": _histogram(core.latency(), LATENCY_UNDER_LOAD),
            "warm_up_latency": _histogram(core.warm_up(), LATENCY_UNDER_LOAD),
            "service_latency": _histogram(core.service(), SERVICE),
            "sent": sent,
        }

    def answer(self) -> Columns:
        """Return all outputs, merged by event time; see `Prepared.answer`."""
        core = self._open()
        rows = core.rows()
        columns: Columns = {
            name: np.empty(rows, dtype=self._output[name]) for name in self._output.names or ()
        }
        core.collect([column.ctypes.data for column in columns.values()])
        return columns

    def close(self) -> None:
        """Release the core, its threads and the input."""
        self._wiring = None

    def _open(self) -> "_core.Core":
        if self._wiring is None:
            raise EngineError("this run is closed")
        return self._wiring.core


def _rows_to_reserve(program: DGSProgram, events: int, workers: int) -> int:
    """Return for how many output rows of each worker memory is touched before a load begins."""
    rows = min(events * program.max_outputs_per_event, RESERVED_BYTES // program.output.itemsize)
    return rows // workers


def _histogram(sparse: tuple[bytes, bytes], definition: str) -> Histogram:
    values, counts = (np.frombuffer(column, dtype=np.int64) for column in sparse)
    return Histogram(values_ns=values, counts=counts, definition=definition)


def _progress(core: "_core.Core") -> Progress:
    emitted, consumed, outputs, p50, p99, largest = (
        np.array(column, dtype=np.int64) for column in core.progress()
    )
    return Progress(
        step_ns=_core.STEP_NS,
        emitted=emitted,
        consumed=consumed,
        outputs=outputs,
        latency_p50_ns=p50,
        latency_p99_ns=p99,
        latency_max_ns=largest,
    )


def _median(histogram: Histogram) -> int:
    total = np.cumsum(histogram.counts)
    return int(histogram.values_ns[np.searchsorted(total, (total[-1] + 1) // 2)])
