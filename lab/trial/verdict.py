"""Sets a trial's status: first the answer, then the count of events, then the offered load."""

import json
import time
from typing import Any

import numpy as np

from engines.protocol import OfferedLoad, Progress, Task
from lab.trial.drive import Driven
from lab.trial.spec import EngineTrial
from results import schema
from workloads.datasets.dataset import Dataset
from workloads.model import Columns, Dataflow, Workload
from workloads.model.workload import REFERENCE

# Below this, starting and stopping threads weighs more than the work itself.
SHORTEST_S = 1e-3

NOT_DETERMINISTIC = (
    "the reference engine's answer, from the same functions, is another: the engine is wrong, or a "
    "function does not give the same each time (random numbers, a clock, a variable that it "
    "keeps), which no engine can get right: make it depend on its arguments alone"
)
"""What a wrong answer may also be where engine and reference run the same program."""

Result = dict[str, Any]


def check_answer(
    workload: Workload, dataset: Dataset, answer: Columns, result: Result
) -> str | None:
    """Compare the answer with the oracle's; return what is wrong with it, in a line.

    Fills `result` with the columns of the comparison.
    """
    from lab.trial.verify import verify

    begin_ns = time.monotonic_ns()
    verdict = verify(workload, dataset, answer)
    result |= {
        "checked_by": workload.checked_by,
        "verify_s": (time.monotonic_ns() - begin_ns) / 1e9,
        "outputs": max((len(column) for column in answer.values()), default=0),
        "expected_outputs": verdict.expected_outputs,
        "missing": verdict.missing,
        "duplicate": verdict.duplicate,
        "out_of_order": verdict.out_of_order,
        "wrong": verdict.wrong,
        "difference": verdict.difference,
        "floats": verdict.floats,
        "float_deviation": verdict.float_deviation,
    }
    if verdict.difference is None:
        return None
    why = verdict.rounding
    if why is None and workload.checked_by == REFERENCE:
        why = NOT_DETERMINISTIC
    if why is not None:
        result["warnings"] = json.dumps([why])
    return verdict.difference.splitlines()[0]


def conclude(driven: Driven, task: Task, spec: EngineTrial, result: Result) -> None:
    """Set status, rates and reason; a rate exists only for a verified answer."""
    warnings = list(driven.warnings)
    events, due = driven.measured.events, task.dataset.events
    wrong = check_answer(task.workload, task.dataset, driven.answer, result)
    if wrong is not None:
        result["status"] = schema.WRONG_OUTPUT
        if driven.measured.unsound is not None:
            why = f"{wrong}: {driven.measured.unsound}"
            result["difference"] = str(result["difference"]).replace(wrong, why, 1)
            wrong = why
        warnings.insert(0, wrong)
    elif driven.measured.unsound is not None:
        result["status"] = schema.INVALID
        warnings.insert(0, f"right by chance: {driven.measured.unsound}")
    elif events != due:
        result["status"] = schema.INVALID
        warnings.insert(0, f"the engine counted {events} events, the input has {due}")
    else:
        result["status"] = schema.OK
        if result["expected_outputs"] == 0:
            warnings.append(_nothing_compared(task))
        warnings += rates(result, offered=task.load is not None)
        if task.load is None:
            result |= steadiness(driven.measured.progress, driven.end_ns - driven.start_ns)
        else:
            warnings = [*_judge_load(driven, task, task.load, spec, result), *warnings]
    result["reason"] = "; ".join(warnings) or None


def _nothing_compared(task: Task) -> str:
    why = f"{task.dataset.events} events are too few, or the query's parameters let nothing through"
    if isinstance(task.workload.program, Dataflow):
        period = task.workload.program.markers
        why += f", or no event is behind the first marker (every {period:,}): what is sorted or "
        why += "aggregated in the last block does not leave"
    return f"the expected answer is empty, so that nothing was compared: {why}"


def _judge_load(
    driven: Driven, task: Task, load: OfferedLoad, spec: EngineTrial, result: Result
) -> tuple[str, ...]:
    """Set the status by the criteria of a sustained rate; return why it is not ok, or limits."""
    from lab.measure.latency import percentiles
    from lab.measure.objective import parse_objective
    from lab.measure.sustained import Criteria, judge

    measured = driven.measured
    assert spec.load is not None, "an offered load comes from one"
    asked = spec.load.objective
    judgement = judge(
        measured.progress,
        load=load,
        offered_events=task.dataset.events,
        sent=measured.sent,
        latency=None if measured.latency is None else percentiles(measured.latency),
        duration_ns=driven.ran_ns - driven.start_ns,
        objective=None if asked is None else parse_objective(asked),
        criteria=Criteria(most_send_lag_p99_ns=round(spec.load.send_lag_ms * 1e6)),
    )
    result |= judgement.columns
    result["status"] = judgement.status
    return judgement.reasons


def steadiness(progress: Progress | None, duration_ns: int) -> Result:
    """Return the verdict on the rate of a catch-up run; nothing where the run is too short."""
    if progress is None:
        return {}
    from lab.measure.load_window import FEWEST_POINTS, POINT_NS
    from lab.measure.steady import TOO_SHORT, steady_state

    whole = min(len(progress.consumed), duration_ns // progress.step_ns)
    width = max(1, min(POINT_NS // progress.step_ns, whole // FEWEST_POINTS))
    points = whole // width
    if points < FEWEST_POINTS:
        return {}
    per_point = progress.consumed[: points * width].reshape(points, width).sum(axis=1)
    found = steady_state(per_point.astype(np.float64))
    if found.verdict == TOO_SHORT:
        return {}
    return {"steady": found.verdict, "steady_reason": found.reason}


def rates(result: Result, *, offered: bool) -> list[str]:
    """Set the rates; return what is doubtful about them. Catch-up has no meaning under a load."""
    duration_s = result["duration_s"]
    if duration_s > 0:
        result["outputs_eps"] = result["outputs"] / duration_s
        if not offered:
            result["throughput_eps"] = result["events"] / duration_s
    if offered or duration_s >= SHORTEST_S:
        return []
    return [
        f"doubtful rate: the timed part took {duration_s * 1e3:.3f} ms, below "
        f"{SHORTEST_S * 1e3:g} ms; use more events, or a larger input where it is imported"
    ]
