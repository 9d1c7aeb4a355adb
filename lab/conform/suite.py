"""Tries an engine's variants on workloads, each in a process of its own, and says what was seen."""

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
from streamlab.lab.isolate.process import run_isolated
from streamlab.workloads.name_suggestions import suggest_names
from streamlab.workloads.registry import workload as find_workload

TIMEOUT_S = 300.0
"""For all cases of one workload; a Spark session alone takes ten of them."""


class State(StrEnum):
    """How a case ended."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"
    CRASH = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One case: how it ended, and why; `why` is empty for `right`."""

    case: str
    state: State
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance:
    """One variant on one workload.

    Attributes:
        variant, workload: which.
        cases: what was tried; of an unsupported workload, the refusals.
    """

    variant: str
    workload: str
    cases: tuple[Seen, ...]

    @property
    def unsupported(self) -> str | None:
        """Why the workload is not run at all; None: it is, in some case at least."""
        if all(seen.state is State.REFUSED for seen in self.cases):
            return self.cases[0].why if self.cases else "no case was tried"
        return None

    def of(self, state: State) -> tuple[Seen, ...]:
        """Return the cases that ended so."""
        return tuple(seen for seen in self.cases if seen.state is state)

    @property
    def failures(self) -> tuple[Seen, ...]:
        """The cases that are wrong, or ended without an answer."""
        return self.of(State.WRONG) + self.of(State.CRASH)


def variants_of(name: str, wanted: Sequence[str]) -> tuple[Variant, ...]:
    """Return an engine's variants of these names; of no names, all.

    Raises:
        EngineError: there is no such engine, or it cannot be loaded.
        LabError: it has no such variant.
    """
    known = {variant.name: variant for variant in find_engine(name).variants()}
    unknown = [variant for variant in wanted if variant not in known]
    if unknown:
        remedy = suggest_names(unknown[0], known, "lab list engines")
        raise LabError(f"engine {name} has no variant {unknown[0]!r}; {remedy}")
    return tuple(known[variant] for variant in wanted or known)


def conform(
    name: str, variant: Variant, reference: str, *, timeout_s: float = TIMEOUT_S
) -> Conformance:
    """Try a variant of an engine on a workload: every case of the suite that concerns it.

    A case that takes its process down, or does not end, is a crash, and so are those that it kept
    from being tried.
    """
    workload = find_workload(reference)
    lacking = variant.lacks(workload)
    if lacking is not None:
        seen = [Seen(case="any", state=State.REFUSED, why=f"{name}/{variant.name} {lacking}")]
    else:
        seen = []
        for group in GROUPS:
            seen += _group(name, variant.name, reference, group, timeout_s)
            if all(one.state is State.REFUSED for one in seen):
                break  # not run at all: more workers do not change that
    return Conformance(variant=variant.name, workload=workload.name, cases=tuple(seen))


def _group(name: str, variant: str, reference: str, group: str, timeout_s: float) -> Iterator[Seen]:
    """Yield what was seen of a group of cases."""
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
        begun: str | None = "start"
        for line in map(json.loads, lines):
            begun = line["case"] if "begun" in line else None
            if begun is None:
                yield _seen(line)
        if outcome.returncode or outcome.timed_out:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            how = f"its process ended with code {outcome.returncode}"
            how = f"not done after {timeout_s:g} s" if outcome.timed_out else how
            why = f"{how}: {' | '.join(said) or 'it wrote nothing'}"
            yield Seen(case=begun or "the end", state=State.CRASH, why=why)


def _seen(line: dict[str, object]) -> Seen:
    case = str(line["case"])
    if "crash" in line:
        return Seen(case=case, state=State.CRASH, why=str(line["crash"]))
    if line["unsupported"] is not None:
        return Seen(case=case, state=State.REFUSED, why=str(line["unsupported"]))
    problems = line["problems"]
    assert isinstance(problems, list)
    if problems:
        return Seen(case=case, state=State.WRONG, why="; ".join(problems))
    return Seen(case=case, state=State.RIGHT)
