"""Runs the band join of `scale_join` with hand-written C++ code, for comparison with its operator O+.

The variants are the comparison systems of STRETCH's figure 8, and an index.
Predicate and output are C++ (core/joins/band_match.h, core/joins/pair_consumer.h); only the window and the band come
from the workload.
The counter `comparisons` counts the pairs in the window, each once, as the O+ does.
`indexed` compares fewer pairs, which it counts as `candidates`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.refusal import check_time_range
from streamlab.engines.multicore.run.core_run import CoreRun, setup_errors
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.settings import CommonOptions, RunSettings
from streamlab.engines.protocol import Task
from streamlab.workloads.model import Input, Query
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT
from streamlab.workloads.suite.scale_join.program import BAND

ADHOC, SINGLE, INDEXED = _core.JOIN_KINDS
TILES, TUPLES = _core.JOIN_FORMS
SUMMARIES = {
    ADHOC: "ScaleJoin written on the ordered log, every pair compared; scale_join only",
    SINGLE: "one thread without a log, every pair compared; scale_join only",
    INDEXED: "one thread with a grid: fewer comparisons, same answer; scale_join only",
}

LABELS = {
    ADHOC: "multicore, hand-written join",
    SINGLE: "multicore, one thread",
    INDEXED: "multicore, one thread with a grid",
}

WORKLOAD = "scale_join"
_LOGS = {"order": "the ordered log", "scalegate": "ScaleGate"}
_BY_TUPLES = ", a tuple at a time, as published"
_PLANS = {
    ADHOC: "{threads} threads over {log}, tuples kept round-robin",
    SINGLE: "one thread, streams merged without a log",
    INDEXED: "one thread, streams merged without a log, a grid of cells twice the band wide",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinsOptions(CommonOptions):
    """Options of a hand-written join.

    Form `tuples` compares one pair at a time, as published. `tuple_buffer` is the log of `adhoc`, as for `vsn`.
    """

    join_form: Literal["tiles", "tuples"] = "tiles"
    tuple_buffer: Literal["order", "scalegate"] = "order"


class JoinsRun(CoreRun):
    """Runs a hand-written band join once: `adhoc`, `1t` or `indexed`, for the query of `scale_join`.

    The input is one left and one right stream. There is one worker, except for `adhoc`.
    `indexed` does not use the options.
    """

    HAS_SERVICE_LATENCY = False

    def __init__(
        self,
        query: Query,
        data: Input,
        settings: RunSettings,
        options: JoinsOptions,
        *,
        kind: str,
    ) -> None:
        window = query.operators[0].window.size
        reason = _check_two_streams(data, window)
        if reason is not None:
            raise UnsupportedError(reason)
        super().__init__(query.output, settings)
        log = _LOGS[options.tuple_buffer]
        self._plan_text = _PLANS[kind].format(threads=settings.workers, log=log)
        self._plan_text += _BY_TUPLES if options.join_form == TUPLES else ""
        with setup_errors():
            self._core = _core.JoinsRun(
                settings.for_core(self._output),
                kind=kind,
                window=window,
                band=BAND,
                form=options.join_form,
                tuple_buffer=options.tuple_buffer,
            )
            self._add_streams(data)
            self._core.start()

    def _plan(self, counters: Mapping[str, float]) -> str:
        return self._plan_text

    def _add_streams(self, data: Input) -> None:
        for index, (stream, fields) in enumerate(zip(data.streams, (LEFT, RIGHT), strict=True)):
            columns = [
                np.ascontiguousarray(stream.payload[name], dtype=fields[name])
                for name in fields.names or ()
            ]
            self._add_stream(index, stream, columns)


def _check_two_streams(data: Input, window: int) -> str | None:
    kinds = [stream.kinds for stream in data.streams]
    if kinds != [(0,), (1,)] or any(stream.tag is not None for stream in data.streams):
        return (
            "a band join reads one left and one right stream without tags, in this order; this "
            f"input has streams of kinds {kinds}; generate it with streams = 1"
        )
    return check_time_range(data, window)


_ONE_THREAD = "one thread, so there is no placement or communication"
_VIOLATED = properties(
    "the code deals tuples to its threads, by their number",
    "which thread keeps a tuple follows from its position",
    "threads share the log and each other's columns by hand",
    holds=False,
)


def _unsupported(kind: str, task: Task, options: JoinsOptions) -> str | None:
    if task.workload.name != WORKLOAD:
        return (
            f"variant {kind} is hand-written for workload {WORKLOAD}, and cannot run "
            f"{task.workload.name}; use variant vsn"
        )
    if kind != ADHOC and task.workers != 1:
        return f"variant {kind} has one thread, got workers = {task.workers}; use workers = 1"
    if kind != ADHOC and options.tuple_buffer != "order":
        return f"variant {kind} has no log; remove the option tuple_buffer"
    if kind == INDEXED and options.join_form != TILES:
        return f"variant {kind} has no option join_form, got {options.join_form!r}; remove it"
    return None


def _family(kind: str) -> Family:
    return Family(
        name=kind,
        summary=SUMMARIES[kind],
        label=LABELS[kind],
        models=(Query,),
        run=partial(JoinsRun, kind=kind),
        unsupported=partial(_unsupported, kind),
        options=JoinsOptions,
        properties=_VIOLATED if kind == ADHOC else properties(*[_ONE_THREAD] * 3),
    )


JOINS = tuple(_family(kind) for kind in _core.JOIN_KINDS)
