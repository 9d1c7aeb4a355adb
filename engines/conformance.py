"""Tests any adapter with small inputs at the edges of the contract.

Each case derives an input from a workload's generator. An adapter passes when its answer equals the oracle's as a
data trace (independent rows may be swapped), every event is counted, and no process or thread that it started is left.
Crashes and time limits need a separate process; the lab's tests cover them.
Cases under an offered load are in `conformance_load`.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import psutil

from streamlab.engines.protocol import Engine, Measured, Task
from streamlab.engines.small_dataset import SEED, write_dataset
from streamlab.workloads.datasets.builder import ensure, generate_input
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import (
    Columns,
    DGSProgram,
    Input,
    ListType,
    Program,
    Query,
    Stream,
    Workload,
    type_of,
)
from streamlab.workloads.model.answers.trace import compare

EVENTS = 3_000
"""Number of events of an input: enough for many synchronizations, few enough for plain Python."""
EVENTS_PER_SYNC = 50
WINDOWS = 6
"""The small input lasts this many times a query's longest window, so that windows open, slide and close often.
"""
CLOSE_GRACE_S = 5.0
"""Processes and threads of an adapter must end within this time after `close`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One edge of the contract.

    Attributes:
        name: completes the sentence "conforms on <name>".
        derive: makes the input from an ordinary one.
        extra_workers: number of workers beyond the number of streams; None for the setting's number of workers.
    """

    name: str
    derive: Callable[[Input], Input]
    extra_workers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Result of a case.

    Attributes:
        unsupported: why the adapter cannot run the case, or None.
        problems: all faults found; empty if the adapter conforms.
    """

    unsupported: str | None = None
    problems: tuple[str, ...] = ()


def ordinary_input(workload: Workload) -> Input:
    """Return a small input from a workload's generator, or the beginning of its own source.

    A DGS program's input has a synchronization every EVENTS_PER_SYNC events. A query's input lasts several windows.
    `Workload.small` overrides the parameters.
    """
    program = workload.program
    if workload.source is not None:
        return _spread_times(_beginning(workload), program)
    dense: dict[str, object] = {}
    if isinstance(program, DGSProgram):
        dense = {name: EVENTS_PER_SYNC for name in workload.parameters if "_per_" in name}
    params = workload.params({**dense, **workload.small})
    data = generate_input(workload, params, max(EVENTS, workload.small_events), SEED)
    return _spread_times(data, program)


def _beginning(workload: Workload) -> Input:
    """Return the first events of a workload's own source; adds the dataset to the catalogue."""
    data = ensure(workload, {}, EVENTS, SEED).load()
    ts = np.sort(np.concatenate([stream.ts for stream in data.streams]))
    last_ts = ts[min(EVENTS, len(ts)) - 1] if len(ts) else 0
    ends = [int(np.searchsorted(stream.ts, last_ts, side="right")) for stream in data.streams]
    return first_rows(data, dict(enumerate(ends)))


def _spread_times(data: Input, program: Program) -> Input:
    """Multiply event times so that the input lasts several of a query's windows."""
    if not isinstance(program, Query):
        return data
    present = [stream.ts for stream in data.streams if len(stream)]
    length = max(int(ts[-1]) for ts in present) - min(int(ts[0]) for ts in present)
    window_sizes = (
        operator.window.size for operator in program.operators if not operator.keeps_time
    )
    longest = max(window_sizes, default=0)
    factor = max(1, WINDOWS * longest // max(1, length))
    return replace(
        data, streams=tuple(replace(stream, ts=stream.ts * factor) for stream in data.streams)
    )


def unchanged(data: Input) -> Input:
    """Return the ordinary input."""
    return data


def first_rows(data: Input, rows: Mapping[int, int]) -> Input:
    """Return the first `rows[i]` events of each stream i; streams not in `rows` become empty."""
    return replace(
        data,
        streams=tuple(head(stream, rows.get(i, 0)) for i, stream in enumerate(data.streams)),
    )


def head(stream: Stream, rows: int) -> Stream:
    """Return the first rows of a stream."""
    return replace(
        stream,
        ts=stream.ts[:rows],
        tag=None if stream.tag is None else stream.tag[:rows],
        payload={name: values[:rows] for name, values in stream.payload.items()},
    )


def _heartbeats_only(data: Input) -> Input:
    beats = np.arange(0, 100, 10, dtype=np.int64)
    empty = first_rows(data, {})
    return replace(
        empty, streams=tuple(replace(stream, heartbeats=beats) for stream in empty.streams)
    )


def ties(data: Input) -> Input:
    """Round event times down to about fifty instants, so that events of all streams share them."""
    present = [stream.ts for stream in data.streams if len(stream)]
    first, last = min(int(ts[0]) for ts in present), max(int(ts[-1]) for ts in present)
    step = max(1, (last - first) // 50)
    return replace(
        data, streams=tuple(replace(stream, ts=stream.ts // step * step) for stream in data.streams)
    )


def _one_stream(data: Input) -> Input:
    """Merge all events into one physical stream that carries every kind."""
    n = len(data.alphabet.kinds)
    types = {name: type_of(values) for s in data.streams for name, values in s.payload.items()}
    scalars = np.dtype([(name, kind) for name, kind in types.items() if isinstance(kind, np.dtype)])
    lists = {name: kind.element for name, kind in types.items() if isinstance(kind, ListType)}
    events = total_order(data, scalars, lists)
    merged = Stream(
        name="all",
        kinds=tuple(range(n)),
        ts=events.ts,
        tag=(events.key * n + events.kind).astype(np.int32),
        payload={**events.payload, **events.lists},
    )
    return replace(data, streams=(merged,))


CASES = (
    Case(name="an ordinary input", derive=unchanged),
    Case(name="an empty input", derive=lambda data: first_rows(data, {})),
    Case(name="one event in the first stream", derive=lambda data: first_rows(data, {0: 1})),
    Case(
        name="one event in the last stream",
        derive=lambda data: first_rows(data, {len(data.streams) - 1: 1}),
    ),
    Case(name="a single stream", derive=_one_stream),
    Case(name="ties in event time", derive=ties),
    Case(name="heartbeats only", derive=_heartbeats_only),
    Case(name="more workers than streams", derive=unchanged, extra_workers=3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The settings of a task in a case.

    Attributes:
        variant: the variant of the engine.
        workers: number of workers.
        batch: number of events in a batch.
        options: options of the variant.
        shared: whether the engine's session outlives the case. A session starts and stops processes and threads at any
            time, so the case is not checked for leftovers.
    """

    variant: str
    workers: int = 2
    batch: int = 64
    options: Mapping[str, object] = field(default_factory=dict)
    shared: bool = False


def run_case(
    engine: Engine, workload: Workload, case: Case, setting: Setting, folder: Path
) -> CaseResult:
    """Run one case in this process and return its result."""
    data = case.derive(ordinary_input(workload))
    workers = setting.workers
    if case.extra_workers is not None:
        workers = len(data.streams) + case.extra_workers
    dataset = write_dataset(data, workload.name, folder / "data")
    task = replace(task_of(workload, dataset, setting, folder), workers=workers)
    reason = engine.unsupported(task)
    if reason is not None:
        return CaseResult(unsupported=reason)
    execution = execute(engine, task, shared=setting.shared)
    problems = differences(workload, workload.oracle(data), execution.answer)
    if execution.measured.events != data.events:
        problems.append(f"counted {execution.measured.events} events, the input has {data.events}")
    return CaseResult(problems=(*problems, *execution.left_behind))


def task_of(workload: Workload, dataset: Dataset, setting: Setting, folder: Path) -> Task:
    """Return the task of a case, with a new scratch folder."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    return Task(
        workload=workload,
        dataset=dataset,
        variant=setting.variant,
        workers=setting.workers,
        batch=setting.batch,
        options=setting.options,
        scratch=scratch,
    )


def differences(
    workload: Workload, expected: Columns, answer: Columns, prefix: str = ""
) -> list[str]:
    """Return how an answer differs, as a data trace, from the expected one: one text, or none if they are equal."""
    difference = compare(expected, answer, workload.output)
    return [] if difference.equal else [prefix + difference.render()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Result of a task.

    Attributes:
        measured: the engine's measurements.
        answer: the engine's answer.
        duration_ns: duration of the run.
        left_behind: a problem for each process or thread that did not end.
    """

    measured: Measured
    answer: Columns
    duration_ns: int
    left_behind: tuple[str, ...]


def execute(engine: Engine, task: Task, *, shared: bool = False) -> Execution:
    """Prepare, run, take the answer and close twice, in this process.

    Unless a session is shared, waits up to CLOSE_GRACE_S for leftover processes and threads to end.
    """
    threads_before = set(threading.enumerate())
    children_before = set(psutil.Process().children(recursive=True))
    prepared = engine.prepare(task)
    try:
        begin_ns = time.monotonic_ns()
        measured = prepared.run()
        duration_ns = time.monotonic_ns() - begin_ns
        answer = prepared.answer()
    finally:
        prepared.close()
        prepared.close()
    return Execution(
        measured=measured,
        answer=answer,
        duration_ns=duration_ns,
        left_behind=() if shared else tuple(_left_behind(threads_before, children_before)),
    )


def _left_behind(
    threads_before: set[threading.Thread], children_before: set[psutil.Process]
) -> list[str]:
    """Wait up to CLOSE_GRACE_S for new processes and threads to end; return a problem for each that has not."""
    deadline = time.monotonic() + CLOSE_GRACE_S
    while True:
        children = set(psutil.Process().children(recursive=True)) - children_before
        threads = [t for t in threading.enumerate() if t not in threads_before and t.is_alive()]
        if not (children or threads) or time.monotonic() > deadline:
            break
        time.sleep(0.02)
    problems = [f"left the process {' '.join(child.cmdline())[:120]}" for child in children]
    return problems + [f"left the thread {thread.name}" for thread in threads]
