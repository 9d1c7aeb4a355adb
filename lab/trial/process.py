"""The measured process: `python -m lab.trial SPEC.json RESULT.json`.

Loads one engine, prepares, times, takes the answer, stops the engine, and only then verifies.
Whatever happens to the engine's own Python code, a result is written; when the process dies, the
lab that started it sees that. Phases are announced on standard output, which is the trial's log.
"""

import errno
import faulthandler
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.environment import activate
from engines.errors import UnsupportedError
from engines.protocol import Engine, OfferedLoad, Task
from engines.registry import engine as find_engine
from lab.errors import LoadError
from lab.trial.collector import collect_from_now_on
from lab.trial.drive import Driven, drive, phase, print_traceback
from lab.trial.scratch import temporary_folder
from lab.trial.spec import (
    LACKED_SPACE,
    CeilingJob,
    EditedError,
    EngineTrial,
    OracleJob,
    read_job,
    workload_of,
)
from workloads.datasets.arrow import arrow_array
from workloads.datasets.dataset import Dataset
from workloads.datasets.errors import DamagedError
from workloads.datasets.integrity import verified
from workloads.model import Columns, ListColumn, Workload

if TYPE_CHECKING:
    from lab.measure.series import Recorded

Result = dict[str, Any]


def main(arguments: list[str]) -> None:
    """Run the trial and leave the process without further ceremony."""
    faulthandler.enable()
    if isinstance(sys.stdout, TextIOWrapper):  # a workload may print what the locale lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    spec_path, result_path = map(Path, arguments)
    result: Result = {}
    try:
        match read_job(spec_path):
            case EngineTrial() as trial:
                run_trial(trial, result)
            case OracleJob() as oracle:
                with _writing(result):
                    _prepare_oracle(oracle)
            case CeilingJob() as ceiling:
                _measure_ceiling(ceiling, result)
    except UnsupportedError as error:
        result |= {"status": "unsupported", "reason": str(error)}
    except (LoadError, DamagedError, EditedError) as error:  # no engine is to blame
        result |= {"status": "invalid", "reason": str(error)}
    except MemoryError as error:
        print_traceback()
        result |= {"status": "oom", "reason": f"MemoryError: {error}"}
    except BaseException as error:
        print_traceback()
        result |= {"status": "crash", "reason": f"{type(error).__name__}: {error}"}
    partial = result_path.with_suffix(".partial")
    partial.write_text(json.dumps(_recordable(result)), encoding="utf-8")
    partial.replace(result_path)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the engine may have closed it
            stream.flush()
    # A thread that the engine left must not keep a finished trial from ending; it is in the result.
    os._exit(0)


def _recordable(result: Result) -> Result:
    """Return the result as the run's columns can hold it; what an engine cannot mean is told."""
    from results import schema
    from results.fit import fitted

    fit, told = fitted(result)
    if told:
        said = [fit["reason"]] if fit.get("reason") else []
        fit["reason"] = "; ".join([*said, *told])
        if fit.get("status") in schema.VERIFIED:
            fit["status"] = schema.INVALID
    return fit


def run_trial(spec: EngineTrial, result: Result) -> None:
    """Do the trial; fills `result` as it goes, so that a failure keeps what was known before it."""
    workload = workload_of(spec)
    activate(spec.engine)
    engine = find_engine(spec.engine)
    result["engine_version"] = engine.version()
    result["properties"] = json.dumps(_properties(engine, workload.name, spec.variant))
    result["planted_slowdown"] = spec.planted_slowdown
    result["startup_s"] = (time.monotonic_ns() - spec.spawned_ns) / 1e9
    dataset, load = _offered(spec, workload)
    from workloads.datasets.oracle_cache import expected_rows

    with temporary_folder("lab-trial-") as scratch:
        task = Task(
            workload=workload,
            dataset=dataset,
            variant=spec.variant,
            workers=spec.workers,
            batch=spec.batch,
            options=spec.options,
            scratch=scratch,
            load=load,
            expected_outputs=expected_rows(workload, dataset),
        )
        reason = engine.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        driven = drive(engine, task, spec, result)
    with _writing(result):
        _record(driven, task, spec, result)


@contextmanager
def _writing(result: Result) -> Iterator[None]:
    """Note in the result when the lab's own files, and no engine's, find no space."""
    try:
        yield
    except OSError as error:
        result[LACKED_SPACE] = error.errno == errno.ENOSPC
        raise


def _offered(spec: EngineTrial, workload: Workload) -> tuple[Dataset, OfferedLoad | None]:
    """Return the input and its load; with a load the input is cut to its length.

    Files that are not as they were when the run looked at them are checked here: engines may read
    them with readers of their own.
    """
    dataset = verified(spec.dataset)
    if spec.load is None:
        return dataset, None
    from lab.load.schedule import offer

    phase("offer")
    offered = offer(spec.load, dataset, grid=workload.output.grid, program=workload.program)
    return offered.dataset, offered.load


def _record(driven: Driven, task: Task, spec: EngineTrial, result: Result) -> None:
    """Write the series and histograms, then compare the answer and set the status."""
    from lab.measure import elastic
    from lab.measure.hdr import write_log
    from lab.measure.series import write_series
    from lab.trial import record, verdict

    measured = driven.measured
    result |= record.engine_columns(measured)
    driven.warnings.extend([*record.counter_warnings(measured), *measured.notices])
    result |= elastic.columns(measured.elasticity)
    if task.load is not None:
        ran_ns = driven.ran_ns - driven.start_ns
        sent = record.sent_of(measured)
        result |= record.load_columns(sent, task.load, task.dataset.events, ran_ns)
    result |= driven.recorder.columns(driven.start_ns, driven.end_ns, events=measured.events)
    histograms = record.histograms(measured)
    if spec.histograms is not None and histograms:
        write_log(histograms, result["duration_s"], spec.histograms)
    if spec.series is not None:
        write_series(_over_time(driven, task.load), spec.series)
    if spec.reconfigurations is not None and measured.elasticity is not None:
        elastic.write_reconfigurations(measured.elasticity, spec.reconfigurations)
    phase("verify")
    verdict.conclude(driven, task, spec, result)
    if spec.outputs is not None:
        _keep(driven.answer, spec.outputs)


def _over_time(driven: Driven, load: OfferedLoad | None) -> "Recorded":
    from lab.measure.series import Phases, Recorded, Track

    times_ns = driven.sampler.times_ns
    energy_ns, joules = driven.recorder.series()
    return Recorded(
        phases=Phases(
            start_ns=driven.start_ns,
            end_ns=driven.end_ns,
            warm_up_ns=None if load is None else load.warm_up_ns,
            load_end_ns=None if load is None else load.end_ns,
        ),
        progress=driven.measured.progress,
        elasticity=driven.measured.elasticity,
        tracks={
            "cpu_s": Track(times_ns=times_ns, values=driven.sampler.cpu_s),
            "rss_bytes": Track(times_ns=times_ns, values=driven.sampler.rss),
        }
        | {
            f"energy_{domain}_j": Track(times_ns=energy_ns.tolist(), values=values.tolist())
            for domain, values in joules.items()
        },
    )


def _prepare_oracle(job: OracleJob) -> None:
    from lab.trial.verify import make_expected

    phase("oracle")
    collect_from_now_on()
    make_expected(workload_of(job), job.dataset)


def _measure_ceiling(job: CeilingJob, result: Result) -> None:
    phase("ceiling")
    collect_from_now_on()
    activate(job.engine)
    engine = find_engine(job.engine)
    result["generator_ceiling_eps"] = engine.generator_ceiling_eps(job.variant, job.batch)


def _properties(engine: Engine, workload: str, variant: str) -> dict[str, dict[str, object]]:
    declared = engine.properties(workload, variant)
    return {name: {"holds": p.holds, "why": p.why} for name, p in declared.items()}


def _is_plain(values: object) -> bool:
    if type(values) is np.ndarray:
        return values.ndim == 1 and values.dtype.kind in "iufb"
    return isinstance(values, ListColumn)


def _keep(answer: Columns, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    # Of numbers and lists without pandas, which Arrow's own way imports; what else an engine gives
    # as an answer is kept as well, to be looked at.
    columns = {
        name: arrow_array(values) if _is_plain(values) else pa.array(values)
        for name, values in answer.items()
    }
    pq.write_table(pa.table(columns), partial, write_page_checksum=True)
    partial.replace(path)
