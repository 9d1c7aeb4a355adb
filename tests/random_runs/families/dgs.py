"""Random runs of DGS programs on synchronization plans."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from engines.multicore import _core
from engines.multicore.dgs.options import DgsOptions
from engines.multicore.dgs.run import DgsRun
from tests.random_runs.case import Case, Family
from tests.random_runs.programs import DGS
from tests.random_runs.settings import repeat, settings
from tests.random_runs.shapes import shaped
from workloads.model import DGSProgram

OPTIMIZERS = ("by-stream", "by-stream", "balanced", "appendix-b")
"""Not by cost: that plans with one of these, and a run's failure would hang on the minute."""
LOWEST, HIGHEST = np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max - 1
"""The ends of time themselves are refused."""


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(DGS)))
    how: dict[str, Any] = {
        **draw(settings()),
        "gather": draw(st.booleans()),
        "handover": draw(st.sampled_from(_core.HANDOVERS)),
        "optimizer": draw(st.sampled_from(OPTIMIZERS)),
    }
    data = draw(shaped(DGS[name].inputs, LOWEST, HIGHEST))
    return Case(family="dgs", program=name, data=data, how=how)


def _check(case: Case) -> None:
    subject, how = DGS[case.program], case.how
    program = subject.program
    assert isinstance(program, DGSProgram)
    wanted = subject.answer(case.data)
    options = DgsOptions(**{name: how[name] for name in DgsOptions.KINDS})
    repeat(
        how,
        case.data,
        lambda settings: DgsRun(program, case.data, settings, options),
        lambda got: subject.same(wanted, got),
    )


FAMILY = Family(name="dgs", cases=_cases(), check=_check)
