"""Runs the band join of `scale_join` with hand-written code: what its O+ is compared with.

The partners of STRETCH's figure 8, and an index beside them. They compute what the program of
`scale_join` computes, but not from it: the predicate and the output are written in C++
(core/joins/band_match.h, core/joins/pair_consumer.h), and only the window and the band are taken
from the workload. `comparisons` counts what the O+ counts: pairs in the window, each once.
`indexed` does not compare them; what it looks at is counted as `candidates`.
"""

import numpy as np

from engines.errors import UnsupportedError
from engines.multicore import _core
from engines.multicore.oplus.refusal import FARTHEST
from engines.multicore.run.core_run import CoreRun, core_settings, set_up
from engines.protocol import Measured, OfferedLoad, Property
from workloads.model import Input, Query, Workload
from workloads.suite.scale_join.generate import LEFT, RIGHT
from workloads.suite.scale_join.program import BAND

ADHOC, SINGLE, INDEXED = "adhoc", "1t", "indexed"
JOINS = {
    ADHOC: "ScaleJoin written on the ordered log, every pair compared; scale_join only",
    SINGLE: "one thread without a log, every pair compared; scale_join only",
    INDEXED: "one thread with a grid: fewer comparisons, same answer; scale_join only",
}
"""The variants and what they are."""

WORKLOAD = "scale_join"
_PLANS = {
    ADHOC: "{threads} threads over the ordered log, tuples kept round-robin",
    SINGLE: "one thread, streams merged without a log",
    INDEXED: "one thread, streams merged without a log, a grid of cells twice the band wide",
}


def properties(variant: str) -> dict[str, Property]:
    """Return PIP1 to PIP3: what hand-written code gives up."""
    if variant != ADHOC:
        one = Property(holds=True, why="one thread, which nothing is placed on or hidden from")
        return {"PIP1": one, "PIP2": one, "PIP3": one}
    return {
        "PIP1": Property(holds=False, why="the code deals tuples to its threads, by their number"),
        "PIP2": Property(holds=False, why="which thread keeps a tuple follows from its position"),
        "PIP3": Property(holds=False, why="threads share the log and each other's columns by hand"),
    }


def no_join(workload: Workload, variant: str, workers: int) -> str | None:
    """Return why a variant cannot run a workload with so many workers, or None."""
    if workload.name != WORKLOAD or not isinstance(workload.program, Query):
        return (
            f"variant {variant} is hand-written for workload {WORKLOAD}; {workload.name} has no "
            "such implementation"
        )
    if variant != ADHOC and workers != 1:
        return f"variant {variant} has one thread; give workers = 1, not {workers}"
    return None


class JoinRun(CoreRun):
    """One run of a hand-written band join, on columns in memory.

    Args:
        variant: `adhoc`, `1t` or `indexed`.
        workload: `scale_join`, with its query parameters bound.
        data: on which input: one left and one right stream.
        workers: threads; 1 but for `adhoc`.
        batch: tuples per unit of hand-over.
        ring_blocks: blocks that a source may be ahead.
        pin: pin threads to cores; None: where there is a core for each.
        load: when tuples are due; None: all at once.
        measure: False leaves out latency and counts over time.
        expected_outputs: records in the answer; None: not known.

    Raises:
        UnsupportedError: another workload, more streams, or times beyond 2^61.
        EngineError: an option is out of range.
    """

    SERVICE_KNOWN = False

    def __init__(
        self,
        variant: str,
        workload: Workload,
        data: Input,
        *,
        workers: int,
        batch: int,
        ring_blocks: int,
        pin: bool | None = None,
        load: OfferedLoad | None = None,
        measure: bool = True,
        expected_outputs: int | None = None,
    ) -> None:
        reason = no_join(workload, variant, workers)
        if reason is not None or not isinstance(workload.program, Query):
            raise UnsupportedError(reason or "")
        window = workload.program.operators[0].window.size
        reason = _not_two_streams(data, window)
        if reason is not None:
            raise UnsupportedError(reason)
        super().__init__(
            workload.program.output, load=load, measure=measure, expected_outputs=expected_outputs
        )
        self._plan = _PLANS[variant].format(threads=workers)
        with set_up():
            self._core = _core.JoinsRun(
                core_settings(
                    workers=workers,
                    threads=workers,
                    batch=batch,
                    ring_blocks=ring_blocks,
                    pin=pin,
                    load=load,
                    reserved_rows=self._reserved_rows(),
                    measure=measure,
                ),
                kind=variant,
                window=window,
                band=BAND,
            )
            self._add_streams(data)
            self._core.start()

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: a thread failed; the message says how.
        """
        self._run_core()
        return self._measured(self._plan, self._counted())

    def _add_streams(self, data: Input) -> None:
        for index, (stream, fields) in enumerate(zip(data.streams, (LEFT, RIGHT), strict=True)):
            columns = [
                np.ascontiguousarray(stream.payload[name], dtype=fields[name])
                for name in fields.names or ()
            ]
            self._add_stream(index, stream, columns)


def _not_two_streams(data: Input, window: int) -> str | None:
    kinds = [stream.kinds for stream in data.streams]
    if kinds != [(0,), (1,)] or any(stream.tag is not None for stream in data.streams):
        return (
            "a band join reads one left and one right stream without tags, in this order; this "
            f"input has streams of the kinds {kinds}; generate it with streams = 1"
        )
    for stream in data.streams:
        if len(stream) and max(-int(stream.ts[0]), int(stream.ts[-1])) + window > FARTHEST:
            return f"stream {stream.name}: event times reach beyond 2^61 with the window's size"
    return None
