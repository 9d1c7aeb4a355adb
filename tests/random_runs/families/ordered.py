"""Random runs of ordered pipelines: schedulers, serials, worklists, buffers, partitions."""

from typing import Any

from hypothesis import strategies as st

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore._core import REORDERINGS, SCHEDULERS, SERIALS, WORKLISTS
from streamlab.engines.multicore.ordered.options import OrderedOptions
from streamlab.engines.multicore.ordered.run import OrderedRun
from streamlab.workloads.model import Pipeline
from tests.random_runs.case import Case, Family
from tests.random_runs.programs import PIPELINES
from tests.random_runs.settings import repeat, settings
from tests.random_runs.shapes import shaped

FARTHEST = 1 << 61
"""Functions of pipelines add to times and subtract them: room for that."""

OPTIONS = st.fixed_dictionaries(
    {
        "scheduler": st.sampled_from(SCHEDULERS),
        "queue": st.sampled_from(
            [
                (serials, worklist)
                for serials in SERIALS
                for worklist in WORKLISTS
                if OrderedOptions(serials=serials, worklist=worklist).check() is None
            ]
        ),
        "reordering": st.sampled_from(REORDERINGS),
        "window": st.sampled_from([None, 1, 2, 5, 64]),
        "partitions": st.sampled_from([None, 1, 4, 9]),
        "ct_window_us": st.sampled_from([10_000, 10]),
        "qst_capacity": st.sampled_from([None, 1, 50]),
    }
)


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(PIPELINES)))
    how: dict[str, Any] = {**draw(settings()), "options": draw(OPTIONS)}
    data = draw(shaped(PIPELINES[name].inputs, -FARTHEST, FARTHEST))
    return Case(family="ordered", program=name, data=data, how=how)


def _check(case: Case) -> str | None:
    subject = PIPELINES[case.program]
    pipeline = subject.program
    assert isinstance(pipeline, Pipeline)
    wanted = subject.answer(case.data)
    drawn = dict(case.how["options"])
    serials, worklist = drawn.pop("queue")
    options = OrderedOptions(**drawn, serials=serials, worklist=worklist)
    try:
        repeat(
            case.how,
            case.data,
            lambda settings: OrderedRun(pipeline, case.data, settings, options),
            lambda got: subject.same(wanted, got),
        )
    except UnsupportedError as error:
        return str(error)
    return None


FAMILY = Family(name="ordered", cases=_cases(), check=_check)
