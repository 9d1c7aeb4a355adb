"""Tests adapters under an offered load: a part of `lab conform`, for every variant that takes one.

An adapter passes a case when its answer equals the oracle's, every event is counted, and its times are plausible:
it ended after the last event was due, every output has one latency between 0 and the length of the run, and outputs
of the warm-up are counted separately.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from streamlab.engines.conformance import (
    CaseResult,
    Execution,
    Setting,
    differences,
    execute,
    ordinary_input,
    task_of,
    ties,
    unchanged,
)
from streamlab.engines.protocol import (
    ADAPTIVE,
    FULL,
    Engine,
    Histogram,
    IntArray,
    OfferedLoad,
)
from streamlab.engines.recording import PUNCTUAL_NS
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.datasets.time_cutoff import event_times, truncate, truncate_answer
from streamlab.workloads.model import Columns, Input, Workload

MS = 1_000_000
HEARTBEAT_NS = MS
SPAN_NS = 300 * MS
"""Length of a load: three rows of `Progress`, and short enough for a test suite."""
WARM_UP_NS = 100 * MS
BUCKET = 1.002
"""Tolerance of a latency as a factor: twice the 0.1 % by which the upper end of a bucket may exceed its values."""


def constant(events: int) -> IntArray:
    """Return evenly spaced due times."""
    return np.arange(events, dtype=np.int64) * SPAN_NS // max(1, events)


def bursts(events: int) -> IntArray:
    """Return due times in three bursts, each of one instant, with silence between them."""
    return np.arange(events, dtype=np.int64) * 3 // max(1, events) * (SPAN_NS // 3)


def at_once(events: int) -> IntArray:
    """Return due times of 0 for all events."""
    return np.zeros(events, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCase:
    """One load on one input.

    Attributes:
        name: completes the sentence "conforms under <name>".
        due: returns the due times of n events, in total order.
        derive: makes the input from an ordinary one.
        silence_ns: how long the load lasts after the last event.
        batch: replaces the setting's batch; None keeps it.
        batching: see `OfferedLoad`.
        cut: whether the dataset is truncated in the middle.
        twice: whether to run also without a load, which must give the same answer.
    """

    name: str
    due: Callable[[int], IntArray] = constant
    derive: Callable[[Input], Input] = unchanged
    silence_ns: int = 0
    batch: int | None = None
    batching: str = ADAPTIVE
    cut: bool = False
    twice: bool = False


LOAD_CASES = (
    LoadCase(name="a constant load", twice=True),
    LoadCase(name="a load in bursts", due=bursts),
    LoadCase(name="a load of one instant", due=at_once),
    LoadCase(name="a load with silence at the end", silence_ns=200 * MS),
    LoadCase(name="a load of batch 1", batch=1),
    LoadCase(name="a load of full batches", batching=FULL),
    LoadCase(name="a load on a dataset that is cut", cut=True, twice=True),
    LoadCase(name="a load with ties in event time", derive=ties, due=bursts),
)


def small_load(
    times: Sequence[IntArray],
    due_ns: IntArray,
    *,
    warm_up_ns: int = 0,
    silence_ns: int = 0,
    batching: str = ADAPTIVE,
) -> OfferedLoad:
    """Return a load with one heartbeat per stream and millisecond, which lasts `silence_ns` after the last event.

    This code is naive on purpose; the lab's own loads come from `streamlab.lab.load`.

    Args:
        times: event times of each stream.
        due_ns: int64[n], ascending: due times of all events in total order.
        warm_up_ns: see `OfferedLoad`.
        silence_ns: how long the load lasts after the last event.
        batching: see `OfferedLoad`.
    """
    ts = np.concatenate(times)
    order = np.argsort(ts, kind="stable")  # (event time, stream, position)
    by_row = np.empty(len(ts), dtype=np.int64)
    by_row[order] = due_ns
    last_ns = int(due_ns[-1]) if len(due_ns) else 0
    beat_ts: list[int] = []
    beat_due: list[int] = []
    for now_ns in [*range(HEARTBEAT_NS, last_ns, HEARTBEAT_NS), last_ns][: len(due_ns)]:
        sent = int(np.searchsorted(due_ns, now_ns, side="right"))
        # All events of any stream at or before the frontier have been sent.
        frontier = int(ts[order[sent]]) - 1 if sent < len(order) else int(ts[order[-1]])
        if sent and (not beat_ts or frontier > beat_ts[-1]):
            beat_ts.append(frontier)
            beat_due.append(now_ns)
    beats = np.array(beat_ts, dtype=np.int64), np.array(beat_due, dtype=np.int64)
    return OfferedLoad(
        due_ns=tuple(np.split(by_row, np.cumsum([len(stream) for stream in times])[:-1])),
        heartbeat_ts=tuple(beats[0].copy() for _ in times),
        heartbeat_due_ns=tuple(beats[1].copy() for _ in times),
        warm_up_ns=warm_up_ns,
        end_ns=last_ns + silence_ns,
        batching=batching,
    )


def run_load_case(
    engine: Engine, workload: Workload, case: LoadCase, setting: Setting, folder: Path
) -> CaseResult:
    """Run one case in this process and return its result."""
    data = case.derive(ordinary_input(workload))
    dataset = write_dataset(data, workload.name, folder / "data")
    expected = workload.oracle(data)
    times = event_times(dataset)
    problems: list[str] = []
    if case.cut:
        present = [stream for stream in dataset.streams if stream.rows]
        first, last = min(s.ts_min for s in present), max(s.ts_max for s in present)
        middle = (first + last) // 2 // workload.output.grid * workload.output.grid
        dataset = truncate(dataset, times, middle)
        times = event_times(dataset)
        expected = truncate_answer(expected, middle, workload.output)
        problems += differences(
            workload,
            workload.oracle(dataset.load()),
            expected,
            "the oracle's answer for the truncated input differs from its truncated answer; "
            "check OutputType.delay and grid: ",
        )
    load = small_load(
        times,
        case.due(dataset.events),
        warm_up_ns=WARM_UP_NS,
        silence_ns=case.silence_ns,
        batching=case.batching,
    )
    task = task_of(workload, dataset, setting, folder)
    task = replace(task, batch=case.batch or setting.batch, load=load)
    reason = engine.unsupported(task)
    if reason is not None:
        return CaseResult(unsupported=reason)
    execution = execute(engine, task, shared=setting.shared)
    problems += [*execution.left_behind, *differences(workload, expected, execution.answer)]
    problems += _implausible_figures(execution, load, times, workload.output.delay)
    if case.twice:
        scratch = folder / "catch-up"
        scratch.mkdir()
        catch_up = execute(engine, replace(task, load=None, scratch=scratch), shared=setting.shared)
        problems += differences(
            workload,
            catch_up.answer,
            execution.answer,
            "the answer differs from that of catch-up: ",
        )
    return CaseResult(problems=tuple(problems))


def _implausible_figures(
    execution: Execution, load: OfferedLoad, times: tuple[IntArray, ...], delay: int
) -> list[str]:
    """Return a problem for each implausible figure that an engine measured; `delay` is `OutputType.delay`."""
    measured, events = execution.measured, sum(map(len, times))
    outputs = len(execution.answer["ts"])
    problems = []

    def expect(figure: str, actual: object, expected: object) -> None:
        if actual != expected:
            problems.append(f"{figure}: {actual}, expected {expected}")

    expect("events processed", measured.events, events)
    last_ns = max((int(due[-1]) for due in load.due_ns if len(due)), default=0)
    if execution.duration_ns < last_ns:
        problems.append(
            f"ended after {execution.duration_ns} ns; the last event is due at {last_ns}"
        )
    steady, warm_up, service = measured.latency, measured.warm_up_latency, measured.service_latency
    if steady is None or warm_up is None:
        return [*problems, "a variant that takes a load must stamp its outputs"]
    expect("latencies, warm-up and after", _count(warm_up) + _count(steady), outputs)
    if service is not None:
        expect("service latencies", _count(service), _count(steady))
    minimum, maximum = _due_before(execution.answer, load, times, delay)
    if not minimum <= _count(warm_up) <= maximum:
        problems.append(
            f"{_count(warm_up)} outputs in warm_up_latency, expected {minimum} to {maximum}: "
            "emit an output when the event that causes it was taken, before the next event; an "
            "engine that times outputs itself counts those due before load.warm_up_ns in "
            "warm_up_latency"
        )
    for histogram in (steady, warm_up, *(() if service is None else (service,))):
        wrong = (histogram.values_ns < 0) | (histogram.values_ns > execution.duration_ns * BUCKET)
        if wrong.any():
            problems.append(
                f"latency of {histogram.values_ns[wrong][0]} ns in a run of {execution.duration_ns} ns "
                f"({histogram.definition})"
            )
    sent = measured.sent
    if sent is None:
        return [*problems, "a variant that takes a load must report what its source sent"]
    # A busy machine may delay the source beyond the end; its lag must then show the delay.
    if sent.events > events or (sent.events < events and _longest_ns(sent.lag) < PUNCTUAL_NS):
        expect("events sent", sent.events, events)
    expect("send lags", _count(sent.lag), events if sent.own_thread else 0)
    progress = measured.progress
    elasticity = measured.elasticity
    if elasticity is not None:
        rows = 0 if progress is None else len(progress.emitted)
        expect("steps of elasticity", len(elasticity.instances), rows)
        expect("steps of its load", len(elasticity.load_cov), rows)
    if progress is not None:
        expect("events emitted in all rows of progress", progress.emitted.sum(), events)
        expect("events consumed in all rows of progress", progress.consumed.sum(), events)
        expect("outputs in all rows of progress", progress.outputs.sum(), outputs)
        is_ahead = np.cumsum(progress.consumed) > np.cumsum(progress.emitted)
        if is_ahead.any():
            problems.append(f"row {is_ahead.argmax()} of progress: more consumed than emitted")
    return problems


def _count(histogram: Histogram) -> int:
    return int(histogram.counts.sum())


def _longest_ns(histogram: Histogram) -> int:
    return int(histogram.values_ns.max(initial=0))


def _due_before(
    answer: Columns, load: OfferedLoad, times: tuple[IntArray, ...], delay: int
) -> tuple[int, int]:
    """Return the smallest and largest number of outputs that can be due in the warm-up.

    An output's time is either at most `delay` after the causing event, or a time that the next event shows to have
    passed. Several events may share a time.
    """
    ts, due = np.concatenate(times), np.concatenate(load.due_ns)
    order = np.lexsort((due, ts))
    ts, due = ts[order], due[order]
    if not len(ts):
        return 0, 0
    event = np.minimum(np.searchsorted(ts, answer["ts"], side="left"), len(ts) - 1)
    latest = due[np.searchsorted(ts, ts[event], side="right") - 1]
    since = answer["ts"].astype(np.int64) - delay
    event = np.searchsorted(ts, since, side="left")
    earliest = due[np.minimum(event, len(ts) - 1)]
    # A heartbeat may show that a time has passed before the next event does. All streams have the same heartbeats here.
    beat_ts, beat_due = load.heartbeat_ts[0], load.heartbeat_due_ns[0]
    if len(beat_ts):
        beat = np.searchsorted(beat_ts, since - 1, side="left")
        shown = beat_due[np.minimum(beat, len(beat_ts) - 1)]
        earliest = np.where(beat < len(beat_ts), np.minimum(earliest, shown), earliest)
    return int((latest < load.warm_up_ns).sum()), int((earliest < load.warm_up_ns).sum())
