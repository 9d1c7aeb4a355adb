"""Small inputs of any workload: many ties, empty streams, negative times and values."""

from hypothesis import strategies as st

from streamlab.workloads.inputs.nexmark.schema import INPUT as NEXMARK
from streamlab.workloads.inputs.retail.schema import DAY_MS, STORE_SALES, WEB_CLICKSTREAMS
from streamlab.workloads.model import DGSProgram, Input, Workload
from streamlab.workloads.model.streams.strategies import inputs
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.retail_inputs import click_inputs, sale_inputs

WIDE = st.integers(-3, 3) | st.integers(-(10**9), 10**9)


def values(found: Workload) -> st.SearchStrategy[int]:
    """Any values, but for lengths of text and keys of outputs, which are never negative.

    Those of joins are so close together that pairs match.
    """
    if found.name in ("scale_join", "nyse_hedge"):
        return st.integers(-15, 15)
    plain = {"chars", "vid"}.isdisjoint(found.program.event.names or ())
    return WIDE if plain else WIDE.map(abs)


def small_inputs(
    found: Workload, layouts: list[list[tuple[str, ...]]] | None = None
) -> st.SearchStrategy[Input]:
    """Inputs of a workload; retail queries answer hardly any that are not made for them.

    Args:
        found: the workload, its query parameters bound.
        layouts: possible lists of the kinds of each stream, of all but retail queries; None: of DGS
            programs some streams of one kind each, of others any.
    """
    if found.input_name == STORE_SALES:
        days = found.name == "declining_categories"
        unit = DAY_MS // 2 if days else 1
        return sale_inputs([gap * unit for gap in (0, 1, 2, 5)])
    if found.input_name == WEB_CLICKSTREAMS:
        return click_inputs([0, 1, 2, 9, 10, 11])
    if found.input_name == NEXMARK:
        return nexmark_inputs()
    if layouts is None and isinstance(found.program, DGSProgram):
        bulk, *markers = ((kind,) for kind in found.program.kinds)
        layouts = [[bulk, *markers, bulk, *markers, bulk], [*markers, bulk], [bulk], markers]
    return inputs(found.program, max_events=20, values=values(found), layouts=layouts)
