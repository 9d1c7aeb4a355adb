"""Runs the timed part of a trial, and measures time, CPU, memory and energy around it."""

import threading
import time
import traceback
from contextlib import suppress

import numpy as np

from streamlab.engines.clusters import ClusterPrepared, Placement
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.protocol import Engine, Task
from streamlab.lab.measure.energy.choose import by_name
from streamlab.lab.measure.energy.recorder import EnergyRecorder
from streamlab.lab.measure.sampler import ResourceSampler
from streamlab.lab.measure.series import Track
from streamlab.lab.measure.tree import descendants
from streamlab.lab.measure.usage import own_usage, usage_of
from streamlab.lab.trial.collector import collect_from_now_on
from streamlab.lab.trial.evidence import TREE_COLUMNS, TimedPart
from streamlab.lab.trial.plants import add_delay, ballast, burn
from streamlab.lab.trial.report import AFTER_BEGIN, AFTER_END, BEFORE_BEGIN, BEFORE_END, Reporter
from streamlab.lab.trial.spec import EngineTrial
from streamlab.workloads.model import Columns, ListColumn

Result = dict[str, object]

CLOSE_GRACE_S = 2.0
"""Time that an engine's processes have to end after the engine was closed."""

DRIVER_ONLY = (
    "CPU time and memory are not known: the nodes of the cluster are elsewhere, and only the driver "
    "was observed"
)
KILLED = "CPU time and memory are not known: the fault killed a worker, whose usage is lost"


def drive(
    engine: Engine, task: Task, spec: EngineTrial, result: Result, reporter: Reporter
) -> tuple[TimedPart, Columns | str, list[str]]:
    """Prepare, run, take the answer and close; add times, CPU time, page faults and memory to `result`.

    Returns the readings, the answer (or why it cannot be converted to arrays), and warnings.
    The planted slow-down is busy work inside the timed part, after the engine's own work.
    """
    threads_before = set(threading.enumerate())
    warnings: list[str] = []
    recorder = EnergyRecorder(by_name(spec.energy, spec.energy_reason))
    with recorder, ResourceSampler(_lab_children(recorder)) as sampler:
        threads_before |= set(threading.enumerate())
        processes_before = frozenset(process.pid for process in descendants())
        collect_from_now_on()
        usage_before_prepare = own_usage() + usage_of(sampler.other_processes())
        reporter.phase("prepare")
        begin_ns = time.monotonic_ns()
        reason = engine.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        prepared = engine.prepare(task)
        try:
            result["prepare_s"] = (time.monotonic_ns() - begin_ns) / 1e9
            # Keep this slow work of the lab out of the timed part: it would take a tenth of a run of 5 ms.
            prepared_usage = usage_of(sampler.other_processes()) + own_usage()
            placement = prepared.placement() if isinstance(prepared, ClusterPrepared) else None
            if placement is not None:
                prepared_usage += sampler.add_roots(placement.processes)
                result |= placement_columns(placement)
            result["prepare_cpu_s"] = prepared_usage.cpu_s_since(usage_before_prepare)
            planted_memory = ballast(spec.planted_memory, sampler)
            reporter.phase("run")
            before = usage_of(sampler.other_processes())
            recorder.mark()
            before += own_usage()
            # Each reading of the clock lies between two stamps.
            reporter.stamp(BEFORE_BEGIN)
            start_ns = time.monotonic_ns()
            reporter.stamp(AFTER_BEGIN)
            measured = prepared.run()
            ran_ns = time.monotonic_ns()
            burn((ran_ns - start_ns) * spec.planted_slowdown)
            reporter.stamp(BEFORE_END)
            end_ns = time.monotonic_ns()
            reporter.stamp(AFTER_END)
            after = own_usage()
            recorder.mark()
            after += usage_of(sampler.other_processes())
            reporter.phase("ran")
            result |= after.columns_since(before)
            sampler.stop()
            recorder.stop()
            del planted_memory
            measured = add_delay(measured, spec.planted_delay_ns)
            result["duration_s"] = (end_ns - start_ns) / 1e9
            result["peak_rss_bytes"] = sampler.peak_rss_bytes
            reporter.phase("answer")
            begin_ns = time.monotonic_ns()
            answer = _arrays(prepared.answer())
            result["answer_s"] = (time.monotonic_ns() - begin_ns) / 1e9
            usage_after_answer = own_usage() + usage_of(sampler.other_processes())
            # Count from the end of the run, so that all work of background threads is in one of the two columns.
            result["answer_cpu_s"] = usage_after_answer.cpu_s_since(after)
            if placement is not None and not placement.processes:
                warnings.append(DRIVER_ONLY)
                result |= dict.fromkeys(TREE_COLUMNS)
            elif spec.loses_worker:
                warnings.append(KILLED)
                result |= dict.fromkeys(TREE_COLUMNS)
        finally:
            reporter.phase("close")
            try:
                prepared.close()
            except Exception as error:
                print_traceback()
                warnings.append(f"the engine failed to close: {type(error).__name__}: {error}")
    timed_part = TimedPart(
        start_ns=start_ns,
        ran_ns=ran_ns,
        end_ns=end_ns,
        measured=measured,
        tracks=_tracks(sampler, recorder),
        energy=recorder.columns(start_ns, end_ns, events=measured.events),
        answer=None,
    )
    return timed_part, answer, warnings + find_leftovers(threads_before, processes_before)


def placement_columns(placement: Placement) -> Result:
    """Return the columns that say where a task ran."""
    return {
        "cluster": placement.kind,
        "nodes": len(placement.cores),
        "node_cores": ", ".join(map(str, placement.cores)),
    }


def _tracks(sampler: ResourceSampler, recorder: EnergyRecorder) -> dict[str, Track]:
    energy_ns, joules = recorder.series()
    return {
        "cpu_s": Track(times_ns=sampler.times_ns, values=sampler.cpu_s),
        "rss_bytes": Track(times_ns=sampler.times_ns, values=sampler.rss),
    } | {
        f"energy_{domain}_j": Track(times_ns=energy_ns.tolist(), values=values.tolist())
        for domain, values in joules.items()
    }


def find_leftovers(
    threads_before: set[threading.Thread], processes_before: frozenset[int]
) -> list[str]:
    """Return warnings about child processes and threads that are still running after CLOSE_GRACE_S.

    Ignores processes and threads that existed before.
    Finds only threads of Python's `threading`; the conformance suite counts other threads.
    """
    deadline = time.monotonic() + CLOSE_GRACE_S
    while True:
        processes = [p for p in descendants() if p.pid not in processes_before]
        threads = [t for t in threading.enumerate() if t not in threads_before and t.is_alive()]
        if not (processes or threads) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    warnings = []
    if processes:
        warnings.append(f"the engine left processes: {', '.join(str(p.pid) for p in processes)}")
    if threads:
        warnings.append(f"the engine left threads: {', '.join(t.name for t in threads)}")
    return warnings


def _arrays(answer: Columns) -> Columns | str:
    """Convert an answer to arrays, so that pending computation counts as taking the answer; or return the error."""
    try:
        return {
            name: values if isinstance(values, ListColumn) else np.asarray(values)
            for name, values in answer.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        return str(error)


def _lab_children(recorder: EnergyRecorder) -> frozenset[int]:
    """Return the lab's own child processes, whose time is not the engine's."""
    return frozenset() if recorder.pid is None else frozenset({recorder.pid})


def print_traceback() -> None:
    """Print the current exception's traceback to the trial's log, if the log is open."""
    with suppress(OSError, ValueError):
        traceback.print_exc()
