"""Random runs of query graphs: pipelines and operators O+, ordered by channels or operators."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore._core import FARTHEST
from streamlab.engines.multicore.layers.options import (
    COMMUNICATION,
    LOG,
    OPERATOR,
    RUN,
    SCALEGATE,
    TIME,
    TUPLE,
    TURN,
    LayersOptions,
)
from streamlab.engines.multicore.layers.run import LayersQueryRun, LayersRun, check_ties
from streamlab.workloads.model import Pipeline, Query
from tests.random_runs.answers import trace
from tests.random_runs.case import Case, Family
from tests.random_runs.families.oplus import REACH
from tests.random_runs.programs import GRAPHS, OPERATORS, PIPELINES
from tests.random_runs.settings import repeat, settings
from tests.random_runs.shapes import shaped

OF_SUITE = {
    name: subject
    for name, subject in PIPELINES.items()
    if isinstance(subject.program, Pipeline)
    and subject.output is not None
    and check_ties(subject.program, subject.output, 2) is None
}
SUBJECTS = GRAPHS | OPERATORS | OF_SUITE


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(SUBJECTS)))
    how: dict[str, Any] = {
        **draw(settings(workers=(1, 2, 3, 5))),
        "determinism": draw(st.sampled_from([COMMUNICATION, OPERATOR])),
        "channels": draw(st.sampled_from([LOG, SCALEGATE])),
        "merge_unit": draw(st.sampled_from([RUN, TUPLE])),
        "dealing": draw(st.sampled_from([TIME, TURN])),
        "channel_rows": draw(st.sampled_from([2, 4, 64, 4096])),
    }
    subject = SUBJECTS[name]
    data = draw(shaped(subject.inputs, REACH - FARTHEST, FARTHEST - REACH, subject.longest))
    return Case(family="layers", program=name, data=data, how=how)


def _check(case: Case) -> str | None:
    subject, how = SUBJECTS[case.program], case.how
    program = subject.program
    wanted = subject.answer(case.data)
    same = subject.same
    if isinstance(program, Pipeline):
        assert subject.output is not None
        output = subject.output
        if how["dealing"] == TURN:  # ties leave in any order, those of one key as well
            output = replace(output, depends=lambda a, b: False)
            if check_ties(program, output, how["workers"], TURN) is not None:
                return None
        same = trace(output)  # partitioned operators have instances: ties may swap
    options = LayersOptions(**{name: how[name] for name in LayersOptions.KINDS if name in how})

    def make(settings: Any) -> LayersRun | LayersQueryRun:
        if isinstance(program, Pipeline):
            return LayersRun(program, case.data, settings, options)
        assert isinstance(program, Query)
        return LayersQueryRun(program, case.data, settings, options)

    try:
        repeat(how, case.data, make, lambda got: same(wanted, got))
    except UnsupportedError as error:
        return str(error)
    return None


FAMILY = Family(name="layers", cases=_cases(), check=_check)
