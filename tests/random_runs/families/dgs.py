"""Random runs of DGS programs on plans that stay or change, with checkpoints and without.

A run with checkpoints is done again from the one before its last, which is its end.
"""

import shutil
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import Columns, DGSProgram
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.optimizers import PlanRequest, choose
from tests.random_runs.case import Case, Family
from tests.random_runs.programs import DGS
from tests.random_runs.settings import made, repeat, settings
from tests.random_runs.shapes import shaped

OPTIMIZERS = ("by-stream", "by-stream", "balanced", "appendix-b", "leaf-per-stream")
"""Not by cost: that plans with one of these, and a run's failure would hang on the minute."""
LOWEST, HIGHEST = np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max - 1
"""The ends of time themselves are refused."""

CHANGES = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(OPTIMIZERS), st.integers(1, 8)), max_size=4
)
"""Of the plan: at a cut, at the earliest, to another optimizer's for so many workers."""


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(DGS)))
    how: dict[str, Any] = {
        **draw(settings()),
        "gather": draw(st.booleans()),
        "handover": draw(st.sampled_from(_core.HANDOVERS)),
        "mailbox": draw(st.sampled_from(_core.MAILBOXES)),
        "buffer_runs": draw(st.sampled_from([1 << 16, 0, 1, 5])),
        "optimizer": draw(st.sampled_from(OPTIMIZERS)),
        "checkpoint_every": draw(st.sampled_from([0, 0, 0, 1, 2, 7])),
        "checkpoint_ms": draw(st.sampled_from([0, 1])),
    }
    # Mailboxes by tag keep their plan.
    how["changes"] = [] if how["mailbox"] == "tags" else draw(st.just([]) | CHANGES)
    data = draw(shaped(DGS[name].inputs, LOWEST, HIGHEST))
    return Case(family="dgs", program=name, data=data, how=how)


def _script(program: DGSProgram, case: Case) -> list[tuple[int, Plan]]:
    """Return the changes of the plan that a case asks for."""
    found = []
    for cut, optimizer, workers in sorted(case.how.get("changes", [])):
        request = PlanRequest(
            program=program,
            alphabet=case.data.alphabet,
            streams=profile(case.data),
            workers=min(workers, case.how["workers"]),
        )
        found.append((cut, choose(optimizer, request).plan))
    return found


def _check(case: Case) -> None:
    subject, how = DGS[case.program], case.how
    program = subject.program
    assert isinstance(program, DGSProgram)
    wanted = subject.answer(case.data)
    given = {name: how[name] for name in DgsOptions.KINDS if name in how}
    script = _script(program, case)
    options = DgsOptions(**given)

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "checkpoints"
        if options.checkpoint_every:
            options = replace(options, checkpoint_folder=str(folder))

        def prepared(settings: RunSettings) -> DgsRun:
            shutil.rmtree(folder, ignore_errors=True)
            return DgsRun(program, case.data, settings, options, script=script)

        def judge(got: Columns) -> None:
            subject.same(wanted, got)
            if not options.checkpoint_every:
                return
            max(folder.glob("checkpoint-*")).unlink()
            settings = replace(made(how, case.data), load=None)
            with closing(DgsRun(program, case.data, settings, options, script=script)) as run:
                run.run()
                subject.same(wanted, run.answer())

        repeat(how, case.data, prepared, judge)


FAMILY = Family(name="dgs", cases=_cases(), check=_check)
