"""Sets a trial's status and rates, from its answer, its count of events and its offered load."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import OfferedLoad, Progress
from streamlab.json_value import json_number
from streamlab.lab.judge.invariants import Arrivals
from streamlab.lab.judge.verify import Verification, verify, verify_arrivals
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.measure.latency import parse_objective, percentiles
from streamlab.lab.measure.load_window import FEWEST_POINTS, POINT_NS
from streamlab.lab.measure.steady import TOO_SHORT, steady_state
from streamlab.lab.measure.sustained_rate import Criteria
from streamlab.lab.measure.sustained_rate import judge as judge_load
from streamlab.lab.trial.evidence import TimedPart
from streamlab.results import schema
from streamlab.workloads.datasets.dataset import Dataset, late_rows
from streamlab.workloads.datasets.oracle_cache import expected, stored_outputs_at_end
from streamlab.workloads.datasets.stream_reader import load_column
from streamlab.workloads.datasets.time_cutoff import event_times
from streamlab.workloads.declarative.declaration import LATE_BY, Declaration, WindowStep
from streamlab.workloads.model import Columns, Dataflow, Query, Workload
from streamlab.workloads.model.operators.program import arrival_tick_ns
from streamlab.workloads.model.workload import INVARIANTS, REFERENCE

# In a shorter timed part, starting and stopping threads takes longer than the work.
SHORTEST_S = 1e-3

NOT_DETERMINISTIC = (
    "the reference engine's answer, from the same functions, differs: the engine is wrong, or a "
    "function is not deterministic (random numbers, a clock, a variable that it changes): make it "
    "depend on its arguments alone"
)
"""Explanation of a wrong answer, for the case that engine and reference run the same program."""

Result = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A trial to judge; its run ended normally.

    Attributes:
        workload: the workload.
        dataset: the input; with a load, truncated to its length.
        load, spec: the offered load and its specification; None for catch-up.
        timed: readings of the timed part.
        warnings: texts about doubtful values; the judge adds to them.
    """

    workload: Workload
    dataset: Dataset
    load: OfferedLoad | None
    spec: LoadSpec | None
    timed: TimedPart
    warnings: list[str]

    @property
    def duration_s(self) -> float:
        """Return the length of the timed part by the trial's clock, in seconds."""
        return (self.timed.end_ns - self.timed.start_ns) / 1e9


def check_answer(
    workload: Workload,
    dataset: Dataset,
    answer: Columns | str,
    result: Result,
    arrivals: Arrivals | None = None,
) -> str | None:
    """Compare the answer with the oracle's, and add the columns of the comparison to `result`.

    `answer` may be a text that says why the answer cannot be compared. With `arrivals`, invariants check the answer.
    Returns a line about the first difference; None if the answer is correct.
    """
    begin_ns = time.monotonic_ns()
    correct = expected(workload, dataset)
    if isinstance(answer, str):
        count, problem = 0, f"the answer cannot be compared: {answer}"
        verdict = Verification(expected_outputs=len(correct["ts"]), difference=problem)
    else:
        count = max((len(column) for column in answer.values()), default=0)
        if arrivals is None:
            verdict = verify(workload, dataset, answer, correct)
        else:
            verdict = verify_arrivals(workload, answer, correct, arrivals)
    result |= {
        "checked_by": workload.checked_by,
        **_end_columns(workload, dataset),
        "late_rows": _late_rows(workload, dataset),
        "verify_s": (time.monotonic_ns() - begin_ns) / 1e9,
        "outputs": count,
        **{name: value for name, value in asdict(verdict).items() if name != "rounding"},
    }
    if verdict.difference is None:
        return None
    explanation = verdict.rounding
    if explanation is None and workload.checked_by == REFERENCE:
        explanation = NOT_DETERMINISTIC
    if explanation is not None:
        result["warnings"] = json.dumps([explanation])
    return verdict.difference.splitlines()[0]


def _end_columns(workload: Workload, dataset: Dataset) -> Result:
    """Return the columns on windows that are open at the end of the input: treatment, and number of outputs."""
    program = workload.program
    if not isinstance(program, Query):
        return {}
    if dataset.until_ts is not None and program.arrival_tick_ns is None:
        return {"at_end": "cut"}
    return {
        "at_end": program.at_end,
        "outputs_at_end": stored_outputs_at_end(workload, dataset),
    }


def _late_rows(workload: Workload, dataset: Dataset) -> int | None:
    """Return how many rows were too late for the import or for the windows; None if rows cannot be late."""
    declaration = workload.declaration
    step = declaration.steps()[0].step if isinstance(declaration, Declaration) else None
    if not isinstance(step, WindowStep) or step.closes_after is None:
        return late_rows(dataset.origin)
    return sum(
        step.count_late(load_column(stream, "ts"), load_column(stream, LATE_BY))
        for stream in dataset.streams
    )


def conclude(
    case: Case, answer: Columns | str, result: Result, contradictions: Sequence[str]
) -> None:
    """Set status, rates and reason in `result`; rates require a correct answer and plausible readings.

    `contradictions` has texts about the trial's readings that contradict the lab's readings.
    """
    warnings, measured = list(case.warnings), case.timed.measured
    contradictions = contradictions or _find_early_outputs(case)
    difference = check_answer(case.workload, case.dataset, answer, result, _make_arrivals(case))
    if difference is not None:
        result["status"] = schema.WRONG_OUTPUT
        if measured.unsound is not None:
            explanation = f"{difference}: {measured.unsound}"
            result["difference"] = str(result["difference"]).replace(difference, explanation, 1)
            difference = explanation
        warnings.insert(0, difference)
    elif measured.unsound is not None:
        result["status"] = schema.INVALID
        warnings.insert(0, f"right by chance: {measured.unsound}")
    elif measured.events != case.dataset.events:
        result["status"] = schema.INVALID
        counted_events, events = measured.events, case.dataset.events
        warnings.insert(0, f"the engine counted {counted_events} events, the input has {events}")
    elif contradictions:
        result["status"] = schema.INVALID
        warnings = [*contradictions, *warnings]
    else:
        result["status"] = schema.OK
        if result["expected_outputs"] == 0:
            # A program that outputs nothing also gives this answer, so the rate would say nothing.
            warnings.append(_explain_nothing_compared(case))
        else:
            warnings += set_rates(result, offered=case.load is not None)
        if case.load is None or case.spec is None:
            duration_ns = case.timed.end_ns - case.timed.start_ns
            result |= steadiness(measured.progress, duration_ns)
        else:
            warnings = [*_judge_load(case, case.load, case.spec, result), *warnings]
            if result["expected_outputs"] == 0:
                result |= {"sustained": None, "sustained_reason": _explain_nothing_compared(case)}
    result["reason"] = "; ".join(warnings) or None


def _find_early_outputs(case: Case) -> list[str]:
    """Return a text if outputs left before their inputs were due."""
    if case.load is None or case.workload.checked_by == INVARIANTS:
        return []
    correct = expected(case.workload, case.dataset)
    progress, delay = case.timed.measured.progress, case.workload.output.delay
    early = early_outputs(progress, case.load, case.dataset, correct["ts"], delay)
    return [] if early is None else [early]


def _make_arrivals(case: Case) -> Arrivals | None:
    """Return when the rows can have arrived; None if the rows have event times."""
    tick_ns = arrival_tick_ns(case.workload.program)
    if tick_ns is None or case.load is None:
        return None
    return Arrivals(
        due_ns=np.sort(np.concatenate(case.load.due_ns)),
        end_ns=max(case.load.end_ns, case.timed.ran_ns - case.timed.start_ns),
        tick_ns=tick_ns,
    )


def _explain_nothing_compared(case: Case) -> str:
    remedy = f"use more than {case.dataset.events:,} events, or parameters that give outputs"
    if isinstance(case.workload.program, Dataflow):
        period = case.workload.program.markers
        remedy += f"; no event may be after the first marker (every {period:,}): sorted or "
        remedy += "aggregated items of the last block do not leave"
    return f"the expected answer is empty, so nothing was compared: {remedy}"


def _judge_load(case: Case, load: OfferedLoad, spec: LoadSpec, result: Result) -> tuple[str, ...]:
    """Set the status in `result` by the criteria of a sustained rate; return failed criteria and limits."""
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
    """Return the columns about the steadiness of a catch-up trial; empty if it is too short."""
    if progress is None:
        return {}
    rows = min(len(progress.consumed), duration_ns // progress.step_ns)
    width = max(1, min(POINT_NS // progress.step_ns, rows // FEWEST_POINTS))
    points = rows // width
    if points < FEWEST_POINTS:
        return {}
    per_point = progress.consumed[: points * width].reshape(points, width).sum(axis=1)
    steady = steady_state(per_point.astype(np.float64))
    if steady.verdict == TOO_SHORT:
        return {}
    return {"steady": steady.verdict, "steady_reason": steady.reason}


def set_rates(result: Result, *, offered: bool) -> list[str]:
    """Set the rates in `result`, without throughput under an offered load; return warnings about them."""
    duration_s = json_number(result["duration_s"])
    if duration_s > 0:
        result["outputs_eps"] = json_number(result["outputs"]) / duration_s
        if not offered:
            result["throughput_eps"] = json_number(result["events"]) / duration_s
    if offered or duration_s >= SHORTEST_S:
        return []
    return [
        f"doubtful rate: the timed part took {duration_s * 1e3:.3f} ms, below "
        f"{SHORTEST_S * 1e3:g} ms; use more events, or a larger dataset"
    ]


def early_outputs(
    progress: Progress | None,
    load: OfferedLoad,
    dataset: Dataset,
    output_ts: npt.NDArray[Any],
    delay: int = 0,
) -> str | None:
    """Return a text about outputs that left too early; None if the counts do not show any.

    An output of event time T depends on inputs up to T - `delay`.
    The output can leave once an event or heartbeat of that time or later is due, or once all events are due.
    The function compares the engine's counts, in steps of 100 ms, with the number of outputs that can have left.

    Args:
        progress: counts of the engine; None: nothing can be checked.
        load: the offered load.
        dataset: the input, truncated to the load's length.
        output_ts: int64[m], event times of the expected outputs.
        delay: largest difference between the event times of an output and of its cause (`OutputType.delay`).
    """
    if progress is None or not len(output_ts):
        return None
    ts = [*event_times(dataset), *load.heartbeat_ts]
    due_ns = [*load.due_ns, *load.heartbeat_due_ns]
    times, dues = np.concatenate(ts), np.concatenate(due_ns)
    order = np.argsort(dues, kind="stable")
    dues, reached_ts = dues[order], np.maximum.accumulate(times[order])
    # Find, for each output, the index of the first due time that reaches the time of the output's cause.
    first_due = np.searchsorted(
        reached_ts, np.sort(output_ts.astype(np.int64)) - delay, side="left"
    )
    last_ns = max((int(stream[-1]) for stream in load.due_ns if len(stream)), default=0)
    possible_ns = np.sort(np.append(dues, last_ns)[first_due].clip(max=last_ns))
    ends_ns = (np.arange(len(progress.outputs)) + 1) * progress.step_ns
    possible = np.searchsorted(possible_ns, ends_ns, side="left")
    excess = np.cumsum(progress.outputs) - possible
    worst = int(np.argmax(excess))
    if excess[worst] <= 0:
        return None
    return (
        f"{excess[worst]} outputs had left after {ends_ns[worst] / 1e9:g} s although the inputs they "
        "depend on were not due yet"
    )
