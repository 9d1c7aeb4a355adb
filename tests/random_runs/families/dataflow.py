"""Random runs of typed dataflow graphs: degrees of vertices, partial sums, full links."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.dataflow.options import COMBINES, DataflowOptions
from streamlab.engines.multicore.dataflow.run import DataflowRun
from streamlab.workloads.model import Dataflow
from tests.random_runs.case import Case, Family
from tests.random_runs.programs import FLOWS
from tests.random_runs.settings import repeat, settings
from tests.random_runs.shapes import shaped

FARTHEST = 1 << 61
"""Functions add to times and subtract them: room for that."""
MOST_MARKERS = 20_000
"""The interpreter takes them one by one, in all vertices."""


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(FLOWS)))
    subject = FLOWS[name]
    flow = subject.program
    assert isinstance(flow, Dataflow)
    how: dict[str, Any] = {
        **draw(settings()),
        "combine": draw(st.sampled_from(COMBINES)),
        "link_rows": draw(st.sampled_from([1 << 14, 1])),
        "degrees": tuple(draw(st.sampled_from([None, None, 1, 2, 3])) for _ in flow.vertices),
    }
    data = draw(shaped(subject.inputs, -FARTHEST, FARTHEST, MOST_MARKERS * flow.markers))
    return Case(family="dataflow", program=name, data=data, how=how)


def _check(case: Case) -> str | None:
    subject, how = FLOWS[case.program], case.how
    flow = subject.program
    assert isinstance(flow, Dataflow)
    degrees = zip(flow.vertices, how["degrees"], strict=True)
    flow = replace(
        flow,
        vertices=tuple(
            vertex if vertex.is_source else replace(vertex, degree=degree)
            for vertex, degree in degrees
        ),
    )
    wanted = subject.answer(case.data)
    options = DataflowOptions(combine=how["combine"], link_rows=how["link_rows"])
    try:
        repeat(
            how,
            case.data,
            lambda settings: DataflowRun(flow, case.data, settings, options),
            lambda got: subject.same(wanted, got),
        )
    except UnsupportedError as error:
        return str(error)
    return None


FAMILY = Family(name="dataflow", cases=_cases(), check=_check)
