"""Runs the conformance suite on variants and workloads, each in a separate process."""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from streamlab.engines.protocol import Variant
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.conform.child import GROUPS
from streamlab.lab.errors import LabError
from streamlab.lab.host.installation import python_path
from streamlab.lab.isolate.process import last_lines, run_isolated
from streamlab.workloads.name_suggestions import suggest_names
from streamlab.workloads.registry import workload as find_workload

TIMEOUT_S = 300.0
"""Time limit for all cases of one workload; a Spark session alone takes ten seconds."""


class State(StrEnum):
    """How a case ended."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"
    CRASH = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """The outcome of one case; `why` is empty for `right`."""

    case: str
    state: State
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance:
    """The outcomes of one variant on one workload.

    Attributes:
        variant, workload: their names.
        cases: outcomes of the cases; for an unsupported workload, only refusals.
    """

    variant: str
    workload: str
    cases: tuple[CaseOutcome, ...]

    @property
    def unsupported(self) -> str | None:
        """Why the workload is unsupported; None if any case ran."""
        if all(outcome.state is State.REFUSED for outcome in self.cases):
            return self.cases[0].why if self.cases else "no case ran"
        return None

    def with_state(self, state: State) -> tuple[CaseOutcome, ...]:
        """Return the outcomes with a state."""
        return tuple(outcome for outcome in self.cases if outcome.state is state)

    @property
    def failures(self) -> tuple[CaseOutcome, ...]:
        """The outcomes that are wrong or without an answer."""
        return self.with_state(State.WRONG) + self.with_state(State.CRASH)


def find_variants(name: str, selected: Sequence[str]) -> tuple[Variant, ...]:
    """Return an engine's variants with these names; without names, all variants.

    Raises:
        EngineError: the engine is unknown or cannot be loaded.
        LabError: the engine has no such variant.
    """
    by_name = {variant.name: variant for variant in find_engine(name).variants()}
    unknown = [variant for variant in selected if variant not in by_name]
    if unknown:
        remedy = suggest_names(unknown[0], by_name, "lab list engines")
        raise LabError(f"engine {name} has no variant {unknown[0]!r}; {remedy}")
    return tuple(by_name[variant] for variant in selected or by_name)


def conform(
    name: str, variant: Variant, reference: str, *, timeout_s: float = TIMEOUT_S
) -> Conformance:
    """Run the suite for a variant of an engine on a workload.

    A case is a crash if it ends its process or exceeds the time limit; the later cases of its group
    do not run.
    """
    workload = find_workload(reference)
    refusal = variant.lacks(workload)
    if refusal is not None:
        outcomes = [
            CaseOutcome(case="any", state=State.REFUSED, why=f"{name}/{variant.name} {refusal}")
        ]
    else:
        outcomes = []
        for group in GROUPS:
            outcomes += _run_group(name, variant.name, reference, group, timeout_s)
            if all(outcome.state is State.REFUSED for outcome in outcomes):
                break  # more workers do not make the workload supported
    return Conformance(variant=variant.name, workload=workload.name, cases=tuple(outcomes))


def _run_group(
    name: str, variant: str, reference: str, group: str, timeout_s: float
) -> Iterator[CaseOutcome]:
    """Run a group of cases in a child process and yield their outcomes."""
    with tempfile.TemporaryDirectory(prefix="lab-conform-") as folder:
        report, log = Path(folder) / "report", Path(folder) / "log"
        child = [
            sys.executable,
            "-m",
            "streamlab.lab.conform.child",
            name,
            variant,
            reference,
            group,
        ]
        outcome = run_isolated(
            [*child, str(report)],
            log=log,
            timeout_s=timeout_s,
            env={"PYTHONPATH": python_path(), "TMPDIR": folder},
        )
        lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        case: str | None = "start"
        for line in map(json.loads, lines):
            case = line["case"] if "begun" in line else None
            if case is None:
                yield _parse_outcome(line)
        if outcome.returncode or outcome.timed_out:
            lines = last_lines(log, 3)
            end = f"its process ended with code {outcome.returncode}"
            end = f"not done after {timeout_s:g} s" if outcome.timed_out else end
            why = f"{end}: {' | '.join(lines) or 'no output'}"
            yield CaseOutcome(case=case or "the end", state=State.CRASH, why=why)


def _parse_outcome(line: dict[str, object]) -> CaseOutcome:
    case = str(line["case"])
    if "crash" in line:
        return CaseOutcome(case=case, state=State.CRASH, why=str(line["crash"]))
    if line["unsupported"] is not None:
        return CaseOutcome(case=case, state=State.REFUSED, why=str(line["unsupported"]))
    problems = line["problems"]
    assert isinstance(problems, list)
    if problems:
        return CaseOutcome(case=case, state=State.WRONG, why="; ".join(problems))
    return CaseOutcome(case=case, state=State.RIGHT)
