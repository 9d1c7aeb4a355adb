"""Native runs for the tests: made, run, checked and closed."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields
from typing import Any

import numpy as np

from streamlab.engines.conformance_load import small_load
from streamlab.engines.multicore.adapter import FAMILIES, MulticoreEngine
from streamlab.engines.multicore.dgs.adaptive.deciders import PlanProposal
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.options import OptionError, check_options
from streamlab.engines.protocol import Measured, OfferedLoad
from streamlab.workloads.model import Columns, Input, Program, Workload
from streamlab.workloads.model.dgs.plan import Plan
from tests.engines.tasks import assert_equal


class ScriptDecider:
    """Proposes the changes of a script, for tests.

    Args:
        steps: `(cut, plan)` in ascending order of cuts. A change happens at its cut, or at the next that no mailbox
            has reached.
    """

    period_s = 3600.0
    at_once = True

    def __init__(self, steps: Sequence[tuple[int, Plan]]) -> None:
        self._steps = list(steps)

    def consider(self, plan: Plan, decided: int) -> PlanProposal | None:
        """Return the next step."""
        if not self._steps:
            return None
        cut, other = self._steps.pop(0)
        return PlanProposal(plan=other, from_cut=cut, why=f"the script's step at cut {cut}")

    def changed(self, took_ns: int) -> None:
        """Do nothing."""


SETTINGS = frozenset(field.name for field in fields(RunSettings))
ARGUMENTS = frozenset({"plan", "kernels", "decider", "shared_nothing"})
"""Of the runs of some variants."""


def make_run(variant: str, program: Program, data: Input, **how: Any) -> Any:
    """Return a run of a variant whose threads wait to begin; the caller closes it.

    `how` names fields of `RunSettings`, options of the variant, and arguments of its run.
    """
    family = FAMILIES[variant]
    settings = RunSettings(**{name: how.pop(name) for name in SETTINGS & how.keys()})
    more = {name: how.pop(name) for name in ARGUMENTS & how.keys()}
    return family.run(program, data, settings, family.options(**how), **more)


def option_error(variant: str, options: dict[str, object]) -> str | None:
    """Return why the lab refuses options of a variant, or None."""
    try:
        check_options(MulticoreEngine(), FAMILIES[variant].variant(), options)
    except OptionError as error:
        return str(error)
    return None


def run_native(variant: str, program: Program, data: Input, **how: Any) -> tuple[Measured, Columns]:
    """Run a program natively; return what was measured, which has to be complete, and the answer.

    Every event and output is counted once. `how` is as for `make_run`.
    """
    with closing(make_run(variant, program, data, **how)) as run:
        measured, answer = run.run(), run.answer()
    assert measured.events == data.events
    if measured.progress is not None:
        assert measured.progress.consumed.sum() == data.events
        assert measured.progress.outputs.sum() == len(answer["ts"])
    if how.get("load") is not None:
        latencies = measured.latency.counts.sum() + measured.warm_up_latency.counts.sum()
        assert latencies == len(answer["ts"])
        timed = measured.progress.latency_max_ns >= 0
        assert (timed == (measured.progress.outputs > 0)).all()
    return measured, answer


def check_native(
    variant: str, found: Workload, data: Input, expected: Columns | None = None, **how: Any
) -> tuple[Measured, Columns]:
    """Run a workload natively and compare it with its oracle, or what that said before."""
    measured, answer = run_native(variant, found.program, data, **how)
    assert_equal(found.oracle(data) if expected is None else expected, answer, found.output)
    return measured, answer


def even_load(data: Input, gap_ns: float, **more: Any) -> OfferedLoad | None:
    """Return a load with an event every `gap_ns`, in total order; None where there is no stream."""
    if not data.streams:
        return None
    due_ns = (gap_ns * np.arange(data.events)).astype(np.int64)
    return small_load([stream.ts for stream in data.streams], due_ns, **more)
