"""Small inputs of any workload, with many ties, empty streams and negative values; workloads with event times."""

from hypothesis import strategies as st

from streamlab.workloads import registry
from streamlab.workloads.inputs.nexmark.schema import INPUT as NEXMARK
from streamlab.workloads.inputs.retail.schema import DAY_MS, STORE_SALES, WEB_CLICKSTREAMS
from streamlab.workloads.model import DGSProgram, Input, Workload
from streamlab.workloads.model.operators.program import arrival_tick_ns
from streamlab.workloads.model.streams.strategies import inputs
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.retail_inputs import click_inputs, sale_inputs

WIDE = st.integers(-3, 3) | st.integers(-(10**9), 10**9)


def event_time_workloads() -> list[str]:
    """Return the workloads of the suite with event times: they run at full speed and have one right answer."""
    return [
        name
        for name in registry.names()
        if arrival_tick_ns(registry.workload(name).program) is None
    ]


def values(subject: Workload) -> st.SearchStrategy[int]:
    """Return values of any sign, but none below 0 for lengths of text and keys of outputs.

    Values of joins are so close together that pairs match.
    """
    if subject.name in ("scale_join", "nyse_hedge"):
        return st.integers(-15, 15)
    plain = {"chars", "vid"}.isdisjoint(subject.program.event.names or ())
    return WIDE if plain else WIDE.map(abs)


def small_inputs(
    subject: Workload, layouts: list[list[tuple[str, ...]]] | None = None
) -> st.SearchStrategy[Input]:
    """Return inputs of a workload; queries of retail and Nexmark have their own, because other inputs give few answers.

    Args:
        subject: the workload, its query parameters bound.
        layouts: for other workloads, possible lists of the kinds of each stream; None: streams of one kind each for DGS
            programs, else any.
    """
    if subject.input_name == STORE_SALES:
        days = subject.name == "declining_categories"
        unit = DAY_MS // 2 if days else 1
        return sale_inputs([gap * unit for gap in (0, 1, 2, 5)])
    if subject.input_name == WEB_CLICKSTREAMS:
        return click_inputs([0, 1, 2, 9, 10, 11])
    if subject.input_name == NEXMARK:
        return nexmark_inputs()
    if layouts is None and isinstance(subject.program, DGSProgram):
        bulk, *markers = ((kind,) for kind in subject.program.kinds)
        layouts = [[bulk, *markers, bulk, *markers, bulk], [*markers, bulk], [bulk], markers]
    return inputs(subject.program, max_events=20, values=values(subject), layouts=layouts)
