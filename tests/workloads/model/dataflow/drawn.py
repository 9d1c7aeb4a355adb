"""Hypothesis strategies for sequences of U(K, V) and O(K, V), and for sequences that equal them."""

from typing import Any

from hypothesis import strategies as st

from workloads.model.dataflow import TraceType
from workloads.model.dataflow.traces import Element
from workloads.model.dataflow.vertex_run import Marker
from workloads.model.records import record_type

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


@st.composite
def equivalents(draw: st.DrawFn, of: TraceType, elements: list[Element]) -> list[Element]:
    """Draw a sequence of the same trace: any of them may be drawn."""
    found: list[Element] = []
    block: list[Any] = []
    for element in [*elements, None]:
        if element is not None and not isinstance(element, Marker):
            block.append(element)
            continue
        keys = draw(st.permutations([key for key, _ in block]))
        values: dict[int, list[Any]] = {}
        for key, value in block:
            values.setdefault(key, []).append(value)
        if not of.ordered:
            values = {key: draw(st.permutations(values[key])) for key in sorted(values)}
        left = {key: iter(values[key]) for key in values}
        found += [(key, next(left[key])) for key in keys]
        block = []
        if element is not None:
            found.append(element)
    return found
