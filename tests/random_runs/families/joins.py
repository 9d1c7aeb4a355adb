"""Random runs of the hand-written joins."""

from typing import Any

from hypothesis import strategies as st

from streamlab.engines.multicore._core import FARTHEST, JOIN_FORMS, JOIN_KINDS
from streamlab.engines.multicore.joins.run import ADHOC, INDEXED, TILES, JoinsRun
from streamlab.workloads.model import Query
from tests.random_runs.case import Case, Family
from tests.random_runs.families.oplus import REACH
from tests.random_runs.programs import OPERATORS
from tests.random_runs.settings import repeat, settings
from tests.random_runs.shapes import shaped

NAME = "scale_join"
SUBJECT = OPERATORS[NAME]


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(JOIN_KINDS))
    form = TILES if kind == INDEXED else draw(st.sampled_from(JOIN_FORMS))
    how: dict[str, Any] = {**draw(settings()), "kind": kind, "form": form}
    if kind != ADHOC:
        how["workers"] = 1
    data = draw(shaped(SUBJECT.inputs, REACH - FARTHEST, FARTHEST - REACH))
    return Case(family="joins", program=NAME, data=data, how=how)


def _check(case: Case) -> None:
    query = SUBJECT.program
    assert isinstance(query, Query)
    wanted = SUBJECT.answer(case.data)
    repeat(
        case.how,
        case.data,
        lambda settings: JoinsRun(case.how["kind"], query, case.data, settings, case.how["form"]),
        lambda got: SUBJECT.same(wanted, got),
    )


FAMILY = Family(name="joins", cases=_cases(), check=_check)
