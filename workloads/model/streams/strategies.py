"""Draws inputs of a program with Hypothesis: several streams, ties in time, silent streams.

For tests of programs, engines and oracles. Values are small by default, so that sums stay exact and
collisions (equal payloads, equal residues) are frequent. Event times for a query are on or next to the
boundaries of its windows. Values and time gaps for a pipeline or a dataflow graph include the constants
of its functions and their neighbours. Inputs of a dataflow graph also have bursts and silence between
markers.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from streamlab.workloads.model.code.constants import constants
from streamlab.workloads.model.code.functions import memo
from streamlab.workloads.model.dataflow import Dataflow, TraceType
from streamlab.workloads.model.dataflow.reference import first_marker
from streamlab.workloads.model.dataflow.traces import Element
from streamlab.workloads.model.dataflow.vertex_reference import Marker
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline.program import Pipeline
from streamlab.workloads.model.streams.lists import ListColumn
from streamlab.workloads.model.streams.records import record_type, tuple_type
from streamlab.workloads.model.streams.stream import Input, Stream
from streamlab.workloads.model.streams.tag import Alphabet, Tag
from streamlab.workloads.model.workload import Program

T = TypeVar("T")

SMALL = st.integers(min_value=-3, max_value=3)
"""Draws a small payload value; collisions are frequent."""

IDS = st.lists(st.integers(min_value=0, max_value=4), max_size=5)
"""Draws a list of a list column: ids of a small dictionary."""


@st.composite
def inputs(
    draw: st.DrawFn,
    program: Program,
    *,
    layouts: Sequence[Sequence[tuple[str, ...]]] | None = None,
    max_keys: int = 3,
    max_events: int = 12,
    values: st.SearchStrategy[int] | None = None,
) -> Input:
    """Draw an input; the input of a query or a graph may be cut some time after its last event.

    `layouts` are possible lists of the kinds of each stream; by default one to three streams, each with
    any non-empty set of kinds. `max_events` limits each stream. Payload `values` are small by default,
    or constants of a pipeline or graph.
    """
    keyed = isinstance(program, DGSProgram) and program.keyed
    keys = draw(st.integers(1, max_keys)) if keyed else 1
    alphabet = Alphabet(kinds=program.kinds, keys=keys)
    layout: Sequence[tuple[str, ...]] = draw(
        _layouts(program) if layouts is None else st.sampled_from(list(layouts))
    )
    streams = tuple(
        draw(_streams(program, alphabet, f"stream-{index}", names, max_events, values))
        for index, names in enumerate(layout)
    )
    until_ts = None
    if isinstance(program, Query | Dataflow) and draw(st.booleans()):
        lengths = _lengths(program) if isinstance(program, Query) else [program.markers]
        end = max((int(stream.ts[-1]) + 1 for stream in streams if len(stream)), default=0)
        until_ts = end + draw(st.sampled_from([0, 1, *lengths]))
    return Input(alphabet=alphabet, streams=streams, until_ts=until_ts)


@st.composite
def _streams(
    draw: st.DrawFn,
    program: Program,
    alphabet: Alphabet,
    name: str,
    names: tuple[str, ...],
    max_events: int,
    values: st.SearchStrategy[int] | None,
) -> Stream:
    kinds = tuple(sorted(program.kind_indices(names)))
    ts = draw(_sorted_times(program, max_events))
    n = len(ts)
    tag = None
    if len(kinds) > 1 or alphabet.keys > 1:
        codes = _codes(program, alphabet, kinds)
        tag = np.array(draw(_column(_one_of(codes), n)), dtype=np.int32)
    payload: dict[str, npt.NDArray[np.generic] | ListColumn] = {}
    for field in program.event.names or ():
        dtype = program.event[field]
        field_values = _values(program, dtype) if values is None else values
        payload[field] = np.array(draw(_column(field_values, n)), dtype=np.int64).astype(dtype)
    if isinstance(program, Query):
        for field, dtype in program.operators[0].lists.items():
            payload[field] = ListColumn.of(draw(_column(IDS, n)), dtype)
    return Stream(name=name, kinds=kinds, ts=np.array(ts, dtype=np.int64), tag=tag, payload=payload)


@memo(64)
def _layouts(program: Program) -> st.SearchStrategy[list[tuple[str, ...]]]:
    kinds = st.sets(st.sampled_from(program.kinds), min_size=1).map(
        lambda names: tuple(name for name in program.kinds if name in names)
    )
    return st.lists(kinds, min_size=1, max_size=3)


@memo(1024)
def _column(values: st.SearchStrategy[T], rows: int) -> st.SearchStrategy[list[T]]:
    return st.lists(values, min_size=rows, max_size=rows)


@memo(256)
def _one_of(codes: tuple[int, ...]) -> st.SearchStrategy[int]:
    return st.sampled_from(codes)


def _codes(program: Program, alphabet: Alphabet, kinds: Sequence[int]) -> tuple[int, ...]:
    """Return the tags of `kinds`; for kinds across keys, only tags of groups with keys."""
    codes = []
    for kind in kinds:
        across = program.across_of(kind) if isinstance(program, DGSProgram) else None
        keys = range(alphabet.keys)
        groups = keys if across is None else sorted(set(across.groups(alphabet.keys).tolist()))
        codes += [alphabet.encode(Tag(kind, key)) for key in groups if key in keys]
    return tuple(codes)


@memo(64)
def tuples(query: Query, *, max_size: int) -> st.SearchStrategy[list[Any]]:
    """Return a strategy for input tuples of the first operator of a query, in order of time.

    Faster than `inputs`, and shrinks better, if streams do not matter.
    """
    first = query.operators[0]
    fields = {name: first.fields[name] for name in first.fields.names or ()}
    make = tuple_type((*fields, *first.lists))._make
    kinds = []
    for index, part in enumerate(first.inputs):
        names = {*(part.fields.names or ()), *(name for name, _ in part.lists)}
        # Fields that the tuple's input does not have read as 0 or as an empty list.
        values = [_small(fields[name]) if name in names else st.just(0) for name in fields]
        lists = [IDS.map(tuple) if name in names else st.just(()) for name in first.lists]
        kinds.append(st.tuples(_times(query, max_size), st.just(index), *values, *lists))
    input_tuples = st.lists(st.one_of(kinds).map(make), max_size=max_size)
    return input_tuples.map(lambda tuples: sorted(tuples, key=lambda t: int(t.ts)))


@memo(64)
def records(pipeline: Pipeline, *, max_size: int) -> st.SearchStrategy[list[Any]]:
    """Return a strategy for input records of the first operator of a pipeline, in order of time."""
    names = pipeline.event.names or ()
    make = record_type(names)._make
    dtypes = [pipeline.event[name] for name in names]
    rows = st.tuples(_steps(pipeline), *(_values(pipeline, dtype) for dtype in dtypes))

    def build(draws: list[tuple[int, ...]]) -> list[Any]:
        times = accumulate(row[0] for row in draws)
        return [
            make((ts, *(_plain(dtype.type(v)) for dtype, v in zip(dtypes, row[1:], strict=True))))
            for ts, row in zip(times, draws, strict=True)
        ]

    return st.lists(rows, max_size=max_size).map(build)


@memo(64)
def elements(flow: Dataflow, *, max_size: int) -> st.SearchStrategy[list[Element]]:
    """Return a strategy for the input of a dataflow graph: items of its sources, and markers.

    An item's key is the index of its source. A marker may follow the last item.
    """
    kinds = []
    for kind, index in enumerate(flow.sources):
        link = flow.vertices[index].type
        dtypes = [link.value[name] for name in link.fields[1:]]
        fields = [_values(flow, dtype).map(dtype.type) for dtype in dtypes]
        plain = st.tuples(*(field.map(_plain) for field in fields))
        kinds.append(st.tuples(_steps(flow), st.just(kind), plain))
    makers = [record_type(flow.vertices[index].type.fields[1:])._make for index in flow.sources]

    def build(draws: list[tuple[int, int, tuple[Any, ...]]], closed: bool) -> list[Element]:
        sequence: list[Element] = []
        times = [*accumulate(step for step, _, _ in draws)]
        marker_ts = first_marker(times[0], flow.markers) if times else 0
        for ts, (_, kind, fields) in zip(times, draws, strict=True):
            while marker_ts <= ts:
                sequence.append(Marker(marker_ts))
                marker_ts += flow.markers
            sequence.append((kind, makers[kind]((ts, *fields))))
        return [*sequence, Marker(marker_ts)] if closed and times else sequence

    return st.builds(build, st.lists(st.one_of(kinds), max_size=max_size), st.booleans())


@st.composite
def equivalents(draw: st.DrawFn, link: TraceType, elements: Sequence[Element]) -> list[Element]:
    """Draw any sequence of the same data trace."""
    sequence: list[Element] = []
    block: list[tuple[int, Any]] = []
    for element in [*elements, None]:
        if element is not None and not isinstance(element, Marker):
            block.append(element)
            continue
        keys = draw(st.permutations([key for key, _ in block]))
        values: dict[int, list[Any]] = {}
        for key, value in block:
            values.setdefault(key, []).append(value)
        if not link.ordered:
            values = {key: draw(st.permutations(values[key])) for key in sorted(values)}
        remaining = {key: iter(values[key]) for key in values}
        sequence += [(key, next(remaining[key])) for key in keys]
        block = []
        if element is not None:
            sequence.append(element)
    return sequence


def _small(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    if dtype.kind == "b":
        return st.booleans()
    return st.integers(0, 3) if dtype.kind == "u" else SMALL.map(dtype.type).map(_plain)


def _plain(value: np.generic) -> Any:
    return value.item()


@memo(64)
def _values(program: Program, dtype: np.dtype[Any]) -> st.SearchStrategy[int]:
    """Return small values, and constants of functions and their neighbours, that fit the type."""
    if not isinstance(program, Pipeline | Dataflow) or dtype.kind not in "iuf":
        return SMALL
    limits = np.iinfo(dtype if dtype.kind in "iu" else np.int32)
    nearby = {value + delta for value in constants(program) for delta in (-1, 0, 1)}
    fitting = sorted(value for value in nearby if limits.min <= value <= limits.max)
    small = st.integers(0, 3) if dtype.kind == "u" else SMALL
    return small | st.sampled_from(fitting) if fitting else small


@memo(64)
def _sorted_times(program: Program, max_events: int) -> st.SearchStrategy[list[int]]:
    """Return the times of a stream."""
    if not isinstance(program, Pipeline | Dataflow):
        return st.lists(_times(program, max_events), max_size=max_events).map(sorted)
    return st.lists(_steps(program), max_size=max_events).map(lambda steps: [*accumulate(steps)])


@memo(64)
def _steps(program: Pipeline | Dataflow) -> st.SearchStrategy[int]:
    """Return steps from one time to the next: zero, small, or close to a constant.

    For a graph, also steps close to the marker period. Much longer steps would only add markers.
    """
    nearby = {value + delta for value in constants(program) for delta in (-1, 0, 1) if value > 0}
    step = st.integers(0, 2)
    if isinstance(program, Dataflow):
        period = program.markers
        nearby = {step for step in nearby if step <= 3 * period}
        nearby |= {period - 1, period, period + 1, 2 * period}
    return step | st.sampled_from(sorted(nearby)) if nearby else step


def _times(program: Program, max_events: int) -> st.SearchStrategy[int]:
    """Return few distinct times for many events, so that ties within and between streams are common."""
    if not isinstance(program, Query):
        return st.integers(0, max_events)
    length, multiple = st.sampled_from([1, *_lengths(program)]), st.integers(-2, 3)
    return st.builds(
        lambda n, unit, delta: n * unit + delta, multiple, length, st.sampled_from([0, 0, -1, 1])
    )


def _lengths(query: Query) -> list[int]:
    """Return the window advances and sizes of a query."""
    windows = [operator.window for operator in query.operators]
    return sorted({length for window in windows for length in (window.advance, window.size)})
