"""The measured process: `python -m lab.trial SPEC.json RESULT.json`.

Loads one engine, prepares, times, takes the answer, stops the engine, and only then verifies.
Whatever happens to the engine's own Python code, a result is written; when the process dies, the
lab that started it sees that. Phases are announced on standard output, which is the trial's log.
"""

import faulthandler
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from engines.errors import UnsupportedError
from engines.protocol import Engine, Measured, Task
from engines.registry import engine as find_engine
from lab.measure.sampler import ResourceSampler
from lab.measure.tree import cpu_seconds, descendants
from lab.trial_spec import TrialSpec, read_spec
from workloads.model import Columns
from workloads.registry import workload as find_workload

# Below this, starting and stopping threads weighs more than the work itself.
SHORTEST_S = 1e-3
# An engine that has been told to close may need a moment until its processes are gone.
CLOSE_GRACE_S = 2.0

Result = dict[str, Any]


def main(arguments: list[str]) -> None:
    """Run the trial and leave the process without further ceremony."""
    faulthandler.enable()
    spec_path, result_path = map(Path, arguments)
    result: Result = {}
    try:
        spec = read_spec(spec_path)
        if spec.runs_oracle_only:
            _prepare_oracle(spec)
        else:
            run_trial(spec, result)
    except UnsupportedError as error:
        result |= {"status": "unsupported", "reason": str(error)}
    except MemoryError as error:
        traceback.print_exc()
        result |= {"status": "oom", "reason": f"MemoryError: {error}"}
    except BaseException as error:
        traceback.print_exc()
        result |= {"status": "crash", "reason": f"{type(error).__name__}: {error}"}
    partial = result_path.with_suffix(".partial")
    partial.write_text(json.dumps(result), encoding="utf-8")
    partial.replace(result_path)
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread that the engine left must not keep a finished trial from ending; it is in the result.
    os._exit(0)


def run_trial(spec: TrialSpec, result: Result) -> None:
    """Do the trial; fills `result` as it goes, so that a failure keeps what was known before it."""
    workload = find_workload(spec.dataset.workload)
    engine = find_engine(spec.engine)
    result["engine_version"] = engine.version()
    result["properties"] = json.dumps(_properties(engine, workload.name, spec.variant))
    with tempfile.TemporaryDirectory(prefix="lab-trial-") as scratch:
        task = Task(
            workload=workload,
            dataset=spec.dataset,
            variant=spec.variant,
            workers=spec.workers,
            batch=spec.batch,
            options=spec.options,
            scratch=Path(scratch),
        )
        reason = engine.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        result["startup_s"] = (time.monotonic_ns() - spec.spawned_ns) / 1e9
        answer, doubts = _drive(engine, task, spec, result)
    _phase("verify")
    _judge(spec, answer, doubts, result)


def _drive(
    engine: Engine, task: Task, spec: TrialSpec, result: Result
) -> tuple[Columns, list[str]]:
    """Prepare, run, take the answer and close; return the answer and what is doubtful."""
    threads_before = set(threading.enumerate())
    doubts: list[str] = []
    sampler = ResourceSampler()
    with sampler:
        threads_before |= set(threading.enumerate())
        _phase("prepare")
        begin_ns = time.monotonic_ns()
        prepared = engine.prepare(task)
        try:
            result["prepare_s"] = (time.monotonic_ns() - begin_ns) / 1e9
            _phase("run")
            cpu_before = cpu_seconds(descendants())
            start_ns = time.monotonic_ns()
            measured = prepared.run()
            end_ns = time.monotonic_ns()
            result["cpu_s"] = cpu_seconds(descendants()) - cpu_before
            sampler.stop()
            result["duration_s"] = (end_ns - start_ns) / 1e9
            result["peak_rss_bytes"] = sampler.peak_rss_bytes
            _record(measured, spec, result)
            _phase("answer")
            answer = prepared.answer()
        finally:
            _phase("close")
            try:
                prepared.close()
            except Exception as error:
                traceback.print_exc()
                doubts.append(f"the engine failed to close: {type(error).__name__}: {error}")
    if spec.series is not None:
        _write_series(sampler, start_ns, end_ns, spec.series)
    doubts += _left_behind(threads_before)
    return answer, doubts


def _record(measured: Measured, spec: TrialSpec, result: Result) -> None:
    result["events"] = measured.events
    result["plan"] = measured.plan
    result["counters"] = json.dumps({k: float(v) for k, v in measured.counters.items()})
    if measured.latency is None:
        return
    from lab.measure.latency import percentiles

    found = percentiles(measured.latency)
    result["latency_definition"] = measured.latency.definition
    result["latency_count"] = found.count
    result["latency_p50_ns"] = found.p50_ns
    result["latency_p90_ns"] = found.p90_ns
    result["latency_p99_ns"] = found.p99_ns
    result["latency_max_ns"] = found.max_ns
    if spec.latency is not None:
        _write_table(
            {"value_ns": measured.latency.values_ns, "count": measured.latency.counts}, spec.latency
        )


def _judge(spec: TrialSpec, answer: Columns, doubts: list[str], result: Result) -> None:
    """Set status, rates and reason; a rate exists only for a verified answer."""
    from lab.verify import verify

    begin_ns = time.monotonic_ns()
    verdict = verify(find_workload(spec.dataset.workload), spec.dataset, answer)
    result["verify_s"] = (time.monotonic_ns() - begin_ns) / 1e9
    outputs = max((len(column) for column in answer.values()), default=0)
    result |= {
        "outputs": outputs,
        "expected_outputs": verdict.expected_outputs,
        "missing": verdict.missing,
        "duplicate": verdict.duplicate,
        "out_of_order": verdict.out_of_order,
        "wrong": verdict.wrong,
        "difference": verdict.difference,
    }
    duration_s, events = result["duration_s"], result["events"]
    if verdict.difference is not None:
        result["status"] = "wrong_output"
        doubts.insert(0, verdict.difference.splitlines()[0])
    elif events != spec.dataset.events:
        result["status"] = "invalid"
        doubts.insert(0, f"the engine counted {events} events, the input has {spec.dataset.events}")
    else:
        result["status"] = "ok"
        if duration_s > 0:
            result["throughput_eps"] = events / duration_s
            result["outputs_eps"] = outputs / duration_s
        if duration_s < SHORTEST_S:
            doubts.append(
                f"doubtful rate: the timed part took {duration_s * 1e3:.3f} ms, below "
                f"{SHORTEST_S * 1e3:g} ms; use more events"
            )
    result["reason"] = "; ".join(doubts) or None
    if spec.outputs is not None:
        _write_table(answer, spec.outputs)


def _left_behind(threads_before: set[threading.Thread]) -> list[str]:
    """Say which child processes and threads are still there after a moment of grace.

    Threads that did not come from Python's `threading` are not seen; the conformance suite counts
    those.
    """
    deadline = time.monotonic() + CLOSE_GRACE_S
    while True:
        processes = descendants()
        threads = [t for t in threading.enumerate() if t not in threads_before and t.is_alive()]
        if not (processes or threads) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    doubts = []
    if processes:
        doubts.append(f"the engine left processes: {', '.join(str(p.pid) for p in processes)}")
    if threads:
        doubts.append(f"the engine left threads: {', '.join(t.name for t in threads)}")
    return doubts


def _prepare_oracle(spec: TrialSpec) -> None:
    from lab.verify import make_expected

    _phase("oracle")
    make_expected(find_workload(spec.dataset.workload), spec.dataset)


def _properties(engine: Engine, workload: str, variant: str) -> dict[str, dict[str, object]]:
    declared = engine.properties(workload, variant)
    return {name: {"holds": p.holds, "why": p.why} for name, p in declared.items()}


def _write_series(sampler: ResourceSampler, start_ns: int, end_ns: int, path: Path) -> None:
    """Write the samples; `t_ns` is 0 at the start of the timed part, `timed` true inside it."""
    times = sampler.times_ns
    _write_table(
        {
            "t_ns": [t - start_ns for t in times],
            "timed": [start_ns <= t <= end_ns for t in times],
            "rss_bytes": sampler.rss,
            "cpu_s": sampler.cpu_s,
        },
        path,
    )


def _write_table(columns: dict[str, Any], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    pq.write_table(pa.table(columns), partial)
    partial.replace(path)


def _phase(name: str) -> None:
    print(f"# phase: {name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
