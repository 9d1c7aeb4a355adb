"""Families with a fault each, on the real core, which a campaign must find."""

import os
import signal
import threading

from hypothesis import strategies as st

from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.workloads.model import Query, Window
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from tests.engines.multicore.operator_queries import query
from tests.random_runs.answers import rows_in_time_order
from tests.random_runs.case import Case, Family
from tests.random_runs.settings import repeat, settings
from tests.random_runs.shapes import shaped


def emit_sums(w, out):
    out.emit(w[0].key, w[0].sum, w[-1].count)


def emit_sums_but_for_a_fault(w, out):
    out.emit(w[0].key, w[0].sum + (w[0].count == 2), w[-1].count)


WINDOW = Window(advance=3, size=3)
RIGHT = query("planted", WINDOW, expire=emit_sums)
WRONG = query("planted", WINDOW, expire=emit_sums_but_for_a_fault)


@st.composite
def _cases(draw: st.DrawFn, family: str) -> Case:
    how = {**draw(settings()), "load": None, "ring_blocks": 64, "measure": True}
    layouts = [[("first",)], [("first",), ("second",)]]
    data = draw(shaped(inputs(RIGHT, layouts=layouts), -1000, 1000))
    return Case(family=family, program="planted", data=data, how=how)


def _run(case: Case, query: Query) -> None:
    expected = answer_of(RIGHT, case.data)
    repeat(
        case.how,
        case.data,
        lambda settings: OplusRun(query, case.data, settings, OplusOptions()),
        lambda got: rows_in_time_order(expected, got),
    )


def _wrong(case: Case) -> None:
    _run(case, WRONG)


def _now_and_then(case: Case) -> None:
    """As a race: the fault shows in one run of two."""
    _now_and_then.runs += 1
    _run(case, WRONG if _now_and_then.runs % 2 else RIGHT)


_now_and_then.runs = 0


def _crash(case: Case) -> None:
    if len(case.data.streams) == 2:
        os.kill(os.getpid(), signal.SIGSEGV)


def _hang(case: Case) -> None:
    if len(case.data.streams) == 2:
        threading.Event().wait()


FAMILIES = {
    name: Family(name=name, cases=_cases(name), check=check)
    for name, check in (
        ("wrong", _wrong),
        ("now and then", _now_and_then),
        ("crash", _crash),
        ("hang", _hang),
    )
}
