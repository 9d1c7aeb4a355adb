"""A Hypothesis strategy for sequences of U(K, V) and O(K, V)."""

from typing import Any

from hypothesis import strategies as st

from streamlab.workloads.model.dataflow import TraceType
from streamlab.workloads.model.dataflow.traces import Element
from streamlab.workloads.model.dataflow.vertex_reference import Marker
from streamlab.workloads.model.streams.records import record_type

PERIOD = 4


@st.composite
def sequences(
    draw: st.DrawFn,
    of: TraceType,
    *,
    min_blocks: int = 1,
    max_blocks: int = 4,
    max_items: int = 5,
    max_keys: int = 3,
) -> list[Element]:
    """Draw a sequence: ties, bursts, empty blocks, keys that are silent for blocks."""
    make = record_type(of.fields[1:])._make
    keys = st.just(0) if of.key is None else st.integers(0, max_keys - 1)
    found: list[Element] = []
    blocks = draw(st.integers(min_blocks, max_blocks))
    for block in range(blocks):
        if block:
            found.append(Marker(block * PERIOD))
        times = st.integers(block * PERIOD, (block + 1) * PERIOD - 1)
        fields = [times] + [field(of, name) for name in of.fields[1:]]
        at_least = draw(st.sampled_from([0, 1, min(3, max_items)]))
        items = st.tuples(keys, st.tuples(*fields).map(make))
        found += draw(st.lists(items, min_size=at_least, max_size=max_items))
    return found


def field(of: TraceType, name: str) -> st.SearchStrategy[Any]:
    small = st.integers(-2, 5)
    return small.map(float) if of.value[name].kind == "f" else small
