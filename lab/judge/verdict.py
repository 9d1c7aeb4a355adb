"""Sets a trial's status: first the answer, then the count of events, then the offered load."""

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamlab.engines.protocol import OfferedLoad, Progress
from streamlab.lab.judge.case import Case
from streamlab.lab.judge.early_outputs import early_outputs
from streamlab.lab.judge.verify import Verification, verify
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.measure.latency import percentiles
from streamlab.lab.measure.load_window import FEWEST_POINTS, POINT_NS
from streamlab.lab.measure.objective import parse_objective
from streamlab.lab.measure.steady import TOO_SHORT, steady_state
from streamlab.lab.measure.sustained import Criteria
from streamlab.lab.measure.sustained import judge as judge_load
from streamlab.results import schema
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.model import Columns, Dataflow, Workload
from streamlab.workloads.model.workload import REFERENCE

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
    workload: Workload, dataset: Dataset, answer: Columns | str, result: Result
) -> str | None:
    """Compare the answer with the oracle's; return what is wrong with it, in a line.

    Fills `result` with the columns of the comparison.

    Args:
        workload: whose oracle is asked.
        dataset: the input.
        answer: the answer, or why it cannot be compared.
        result: columns of the row.
    """
    begin_ns = time.monotonic_ns()
    right = expected(workload, dataset)
    if isinstance(answer, str):
        count, problem = 0, f"the answer cannot be compared: {answer}"
        verdict = Verification(expected_outputs=len(right["ts"]), difference=problem)
    else:
        count = max((len(column) for column in answer.values()), default=0)
        verdict = verify(workload, dataset, answer, right)
    result |= {
        "checked_by": workload.checked_by,
        "verify_s": (time.monotonic_ns() - begin_ns) / 1e9,
        "outputs": count,
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


def conclude(
    case: Case, answer: Columns | str, result: Result, contradicted: Sequence[str]
) -> None:
    """Set status, rates and reason; a rate exists only for a verified answer and an honest clock.

    Args:
        case: the trial.
        answer: its answer, or why it cannot be compared.
        result: columns of the row.
        contradicted: which of its readings the lab's contradict, in words.
    """
    warnings, measured = list(case.warnings), case.timed.measured
    contradicted = contradicted or _early(case)
    wrong = check_answer(case.workload, case.dataset, answer, result)
    if wrong is not None:
        result["status"] = schema.WRONG_OUTPUT
        if measured.unsound is not None:
            why = f"{wrong}: {measured.unsound}"
            result["difference"] = str(result["difference"]).replace(wrong, why, 1)
            wrong = why
        warnings.insert(0, wrong)
    elif measured.unsound is not None:
        result["status"] = schema.INVALID
        warnings.insert(0, f"right by chance: {measured.unsound}")
    elif measured.events != case.dataset.events:
        result["status"] = schema.INVALID
        counted = f"the engine counted {measured.events} events"
        warnings.insert(0, f"{counted}, the input has {case.dataset.events}")
    elif contradicted:
        result["status"] = schema.INVALID
        warnings = [*contradicted, *warnings]
    else:
        result["status"] = schema.OK
        if result["expected_outputs"] == 0:
            warnings.append(_nothing_compared(case))
        warnings += rates(result, offered=case.load is not None)
        if case.load is None or case.spec is None:
            duration_ns = case.timed.end_ns - case.timed.start_ns
            result |= steadiness(measured.progress, duration_ns)
        else:
            warnings = [*_judge_load(case, case.load, case.spec, result), *warnings]
    result["reason"] = "; ".join(warnings) or None


def _early(case: Case) -> list[str]:
    """Return whether outputs left before their inputs were due, in words."""
    if case.load is None:
        return []
    right = expected(case.workload, case.dataset)
    progress, delay = case.timed.measured.progress, case.workload.output.delay
    found = early_outputs(progress, case.load, case.dataset, right["ts"], delay)
    return [] if found is None else [found]


def _nothing_compared(case: Case) -> str:
    why = f"{case.dataset.events} events are too few, or the query's parameters let nothing through"
    if isinstance(case.workload.program, Dataflow):
        period = case.workload.program.markers
        why += f", or no event is behind the first marker (every {period:,}): what is sorted or "
        why += "aggregated in the last block does not leave"
    return f"the expected answer is empty, so that nothing was compared: {why}"


def _judge_load(case: Case, load: OfferedLoad, spec: LoadSpec, result: Result) -> tuple[str, ...]:
    """Set the status by the criteria of a sustained rate; return why it is not ok, or limits."""
    measured = case.timed.measured
    judgement = judge_load(
        measured.progress,
        load=load,
        offered_events=case.dataset.events,
        sent=measured.sent,
        latency=None if measured.latency is None else percentiles(measured.latency),
        duration_ns=case.timed.ran_ns - case.timed.start_ns,
        objective=None if spec.objective is None else parse_objective(spec.objective),
        criteria=Criteria(most_send_lag_p99_ns=round(spec.send_lag_ms * 1e6)),
    )
    result |= judgement.columns
    result["status"] = judgement.status
    return judgement.reasons


def steadiness(progress: Progress | None, duration_ns: int) -> Result:
    """Return the verdict on the rate of a catch-up run; nothing where the run is too short."""
    if progress is None:
        return {}
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
