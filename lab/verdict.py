"""Sets a trial's status: first the answer, then the count of events, then the offered load."""

import time
from typing import Any

from engines.protocol import Task
from lab.drive import Driven
from lab.trial_spec import TrialSpec
from results import schema
from workloads.datasets.dataset import Dataset
from workloads.model import Columns
from workloads.registry import workload as find_workload

# Below this, starting and stopping threads weighs more than the work itself.
SHORTEST_S = 1e-3

Result = dict[str, Any]


def check_answer(dataset: Dataset, answer: Columns, result: Result) -> str | None:
    """Compare the answer with the oracle's; return what is wrong with it, in a line.

    Fills `result` with the columns of the comparison.
    """
    from lab.verify import verify

    begin_ns = time.monotonic_ns()
    verdict = verify(find_workload(dataset.workload), dataset, answer)
    result |= {
        "verify_s": (time.monotonic_ns() - begin_ns) / 1e9,
        "outputs": max((len(column) for column in answer.values()), default=0),
        "expected_outputs": verdict.expected_outputs,
        "missing": verdict.missing,
        "duplicate": verdict.duplicate,
        "out_of_order": verdict.out_of_order,
        "wrong": verdict.wrong,
        "difference": verdict.difference,
    }
    if verdict.difference is not None:
        return verdict.difference.splitlines()[0]
    return None


def conclude(driven: Driven, task: Task, spec: TrialSpec, result: Result) -> None:
    """Set status, rates and reason; a rate exists only for a verified answer."""
    doubts = list(driven.doubts)
    events, due = driven.measured.events, task.dataset.events
    wrong = check_answer(task.dataset, driven.answer, result)
    if wrong is not None:
        result["status"] = schema.WRONG_OUTPUT
        doubts.insert(0, wrong)
    elif events != due:
        result["status"] = schema.INVALID
        doubts.insert(0, f"the engine counted {events} events, the input has {due}")
    else:
        result["status"] = schema.OK
        doubts += _rates(result, offered=task.load is not None)
    result["reason"] = "; ".join(doubts) or None


def _rates(result: Result, *, offered: bool) -> list[str]:
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
        f"{SHORTEST_S * 1e3:g} ms; use more events"
    ]
