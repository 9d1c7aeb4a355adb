"""Defines the laws that `check` tests on typed dataflow graphs.

Each law draws an input of the graph, runs a vertex or the whole graph on it with the interpreter, and
raises a counterexample if it does not hold. A vertex is tested on the elements that reach it. Inputs
that an earlier vertex cannot process are skipped; the law `emits` of that vertex reports them.

Deployments rely on these laws: operators that follow their template are consistent (Theorem 4.2), but
a template cannot enforce that.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from streamlab.workloads.model.dataflow.call_recording import check_keys, check_purity
from streamlab.workloads.model.dataflow.operators import (
    OpKeyedOrdered,
    OpKeyedUnordered,
)
from streamlab.workloads.model.dataflow.plan import deploy
from streamlab.workloads.model.dataflow.plan_interpreter import outputs
from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.reference import GraphRun, SharedKeyError
from streamlab.workloads.model.dataflow.traces import (
    Element,
    Transduction,
    close,
    element_words,
    item_words,
    near,
    of_graph,
    of_vertex,
    sources,
    trace,
)
from streamlab.workloads.model.dataflow.vertex_reference import (
    Item,
    Marker,
    Take,
    VertexRun,
    new_record,
    start,
)
from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.dgs.program import Record
from streamlab.workloads.model.dgs.rounding import Rounding, in_tenths
from streamlab.workloads.model.dgs.wires import Draw
from streamlab.workloads.model.streams.records import RecordType
from streamlab.workloads.model.streams.strategies import elements, equivalents

MAX_ITEMS = 10
"""Largest number of items of an input."""
MAX_INSTANCES = 3
"""Largest number of workers of a drawn deployment."""
MAX_COMBINED = 3
"""Largest number of items of an aggregate in the laws of monoids."""


def keys_are_preserved(flow: Dataflow, index: int, draw: Draw) -> None:
    """Keys: an OpKeyedOrdered emits only items of the key of the current item or state.

    Then the output of each instance is in order for each of its keys.
    """
    data = _reaching(flow, index, draw)
    with _ignore_other_errors():
        _run_alone(check_keys(flow.vertices[index]), data)


def inputs_are_disjoint(flow: Dataflow, index: int, draw: Draw) -> None:
    """Disjoint: if inputs are merged in order, no two of them have items of one key.

    Then each key's items come from one input, and the merge keeps their order.
    """
    data = draw(elements(flow, max_size=MAX_ITEMS))
    with _skip_on_error():
        try:
            of_graph(flow).lifted(data)
        except SharedKeyError as error:
            raise BrokenLawError(str(error), tuple(_input_words(flow, data))) from None


def functions_are_pure(flow: Dataflow, index: int, draw: Draw) -> None:
    """Pure: functions change only the records that they fill, and repeat for equal arguments.

    Then any thread may run them, for any instance.
    """
    data = _reaching(flow, index, draw)
    with _ignore_other_errors():
        _run_alone(check_purity(flow.vertices[index]), data)


def outputs_are_declared(flow: Dataflow, index: int, draw: Draw) -> None:
    """Emits: no call emits more than `max_outputs` pairs, and these fit the output type."""
    _run_alone(flow.vertices[index], _reaching(flow, index, draw))


def identity_is_neutral(flow: Dataflow, index: int, draw: Draw) -> None:
    """Identity: combine(x, identity) = x = combine(identity, x)."""
    monoid = _Monoid(flow, index, draw)
    x = monoid.draw(draw)
    neutral = monoid.identity()
    monoid.require("combine(x, identity) is not x", x, monoid.sum_of(x, neutral), x=x, id=neutral)
    monoid.require("combine(identity, x) is not x", x, monoid.sum_of(neutral, x), x=x, id=neutral)


def combine_commutes(
    flow: Dataflow, index: int, draw: Draw, rounding: Rounding | None = None
) -> None:
    """Commutative: combine(x, y) = combine(y, x)."""
    monoid = _Monoid(flow, index, draw, rounding)
    x, y = monoid.draw(draw), monoid.draw(draw)
    law = "combine(x, y) is not combine(y, x)"
    monoid.require(law, monoid.sum_of(x, y), monoid.sum_of(y, x), x=x, y=y)


def combine_associates(
    flow: Dataflow, index: int, draw: Draw, rounding: Rounding | None = None
) -> None:
    """Associative: combine(combine(x, y), z) = combine(x, combine(y, z))."""
    monoid = _Monoid(flow, index, draw, rounding)
    x, y, z = monoid.draw(draw), monoid.draw(draw), monoid.draw(draw)
    left = monoid.sum_of(monoid.sum_of(x, y), z)
    right = monoid.sum_of(x, monoid.sum_of(y, z))
    law = "combine(combine(x, y), z) is not combine(x, combine(y, z))"
    monoid.require(law, left, right, x=x, y=y, z=z)


def vertex_is_consistent(flow: Dataflow, index: int, draw: Draw) -> None:
    """Consistent: a vertex has equivalent outputs for equivalent inputs (Definition 3.5)."""
    _consistent(
        of_vertex(flow.vertices[index], flow.reads(index)), _reaching(flow, index, draw), draw
    )


def graph_is_consistent(flow: Dataflow, draw: Draw) -> None:
    """Consistent: the graph has equivalent outputs for equivalent inputs."""
    _consistent(of_graph(flow), draw(elements(flow, max_size=MAX_ITEMS)), draw)


def graph_is_monotone(flow: Dataflow, draw: Draw) -> None:
    """Monotone: the answer to a prefix of the input is a prefix of the answer (Definition 3.6)."""
    data = draw(elements(flow, max_size=MAX_ITEMS))
    f = of_graph(flow)
    cut = draw(st.integers(0, len(data)))
    whole, part = _run(f, data), _run(f, data[:cut])
    if not trace(f.gives, part) <= trace(f.gives, whole):
        lines = (
            *_input_words(flow, data[:cut]),
            "gives:",
            *_words(f, part),
            "then:",
            *_input_words(flow, data[cut:]),
            "gives in all:",
            *_words(f, whole),
        )
        raise BrokenLawError("later input takes back earlier output", lines)


def runs_repeat(flow: Dataflow, draw: Draw) -> None:
    """Repeat: the same input gives the same answer, so functions keep nothing outside the states."""
    data = draw(elements(flow, max_size=MAX_ITEMS))
    f = of_graph(flow)
    first, again = _run(f, data), _run(f, data)
    if trace(f.gives, first) != trace(f.gives, again):
        lines = (
            *_input_words(flow, data),
            "first:",
            *_words(f, first),
            "again:",
            *_words(f, again),
        )
        raise BrokenLawError("a second run gives another answer", lines)


def deployments_do_not_matter(flow: Dataflow, draw: Draw) -> None:
    """Split: every deployment gives the sequential answer as a data trace (Corollary 4.4)."""
    data = draw(elements(flow, max_size=MAX_ITEMS))
    workers = draw(st.integers(1, MAX_INSTANCES))
    f = of_graph(flow)
    expected = _run(f, data)
    streams = [draw(st.integers(1, workers)) for _ in flow.kinds]
    chosen = deploy(flow, workers, streams=streams, partials=draw(st.booleans()))
    actual = outputs(chosen, data, lambda n: draw(st.integers(0, n - 1)) if n > 1 else 0)
    if not close(trace(f.gives, actual), trace(f.gives, expected)):
        lines = (
            *_input_words(flow, data),
            "one instance of each:",
            *_words(f, expected),
            f"{workers} workers, streams by kind {', '.join(map(str, streams))}:",
            *_words(f, actual),
        )
        raise BrokenLawError("the answer depends on the number of instances", lines)


MONOID_LAWS = (("associative", combine_associates), ("commutative", combine_commutes))
"""The laws of aggregates that rounding breaks."""

GRAPH_LAWS: tuple[tuple[str, Callable[[Dataflow, Draw], None]], ...] = (
    ("consistent", graph_is_consistent),
    ("monotone", graph_is_monotone),
    ("repeat", runs_repeat),
    ("split", deployments_do_not_matter),
)
"""The laws of whole graphs."""


def vertex_laws(vertex: Vertex) -> Iterator[tuple[str, Callable[[Dataflow, int, Draw], None]]]:
    """Yield the laws of a vertex; if one fails, later ones mostly fail too."""
    operator = vertex.operator
    if operator is None:
        return
    if vertex.disjoint_keys:
        yield "disjoint", inputs_are_disjoint
    if isinstance(operator, OpKeyedOrdered):
        yield "keys", keys_are_preserved
    yield "pure", functions_are_pure
    yield "emits", outputs_are_declared
    if isinstance(operator, OpKeyedUnordered):
        yield "associative", combine_associates
        yield "commutative", combine_commutes
        yield "identity", identity_is_neutral
    yield "consistent", vertex_is_consistent


class _Monoid:
    """Draws and combines aggregates of the items that reach a vertex.

    With a `rounding`, the floats of items are tenths, and `rounding` records differences.
    """

    def __init__(
        self, flow: Dataflow, index: int, draw: Draw, rounding: Rounding | None = None
    ) -> None:
        operator = flow.vertices[index].operator
        assert isinstance(operator, OpKeyedUnordered), "only those have aggregates"
        self._operator = operator
        self._type = RecordType("aggregate", operator.aggregate)
        self._reads = operator.reads
        data = _reaching(flow, index, draw)
        self._items: list[Item] = [e for e in data if not isinstance(e, Marker)]
        assume(self._items)
        self._rounding = rounding
        if rounding is not None:
            self._items = [(key, in_tenths(value)) for key, value in self._items]
        self._lines: list[str] = []

    def draw(self, draw: Draw) -> Record:
        """Draw an aggregate."""
        items = draw(st.lists(st.sampled_from(self._items), min_size=1, max_size=MAX_COMBINED))
        words = [item_words(self._reads, item) for item in items]
        self._lines.append(f"an aggregate is of {' and '.join(words)}")
        total = self._take(items[0])
        for item in items[1:]:
            total = self.sum_of(total, self._take(item))
        return total

    def _take(self, item: Item) -> Record:
        aggregate = self._type.zeroed()
        with _skip_on_error():
            self._operator.take(aggregate, *item)
        return aggregate

    def identity(self) -> Record:
        """Return the neutral element."""
        return new_record(self._type, self._operator.identity)

    def sum_of(self, x: Record, y: Record) -> Record:
        """Return the combination of copies of two aggregates."""
        combined = self._type.zeroed()
        with _skip_on_error():
            self._operator.combine(self._type.copy(x), self._type.copy(y), combined)
        return combined

    def require(self, law: str, left: Record, right: Record, **operands: Record) -> None:
        """Raise BrokenLawError if two aggregates differ by more than rounding."""
        values = self._type.values(left), self._type.values(right)
        if near(*values) if self._rounding is None else self._rounding.equal(*values):
            return
        lines = [*self._lines]
        lines += [f"{name}: {self._type.words(record)}" for name, record in operands.items()]
        lines += [f"left side: {self._type.words(left)}", f"right side: {self._type.words(right)}"]
        raise BrokenLawError(law, tuple(lines))


@contextmanager
def _skip_on_error() -> Iterator[None]:
    """Skip an example if a function raises; the law `emits` reports the exception."""
    try:
        yield
    except BrokenLawError:
        raise
    except Exception:
        assume(False)


@contextmanager
def _ignore_other_errors() -> Iterator[None]:
    """Ignore exceptions other than BrokenLawError; the law `emits` reports them."""
    try:
        yield
    except BrokenLawError:
        raise
    except Exception:
        return


def _run(f: Transduction, data: list[Element]) -> list[Element]:
    with _skip_on_error():
        return f.lifted(data)
    return []  # not reached: the example is skipped


def _run_alone(vertex: Vertex, data: list[Element]) -> None:
    of_vertex(vertex, vertex.type).lifted(data)


def _consistent(f: Transduction, u: list[Element], draw: Draw) -> None:
    """Raise BrokenLawError if another sequence of the same trace gives another trace."""
    v = draw(equivalents(f.reads, u))
    left, right = _run(f, u), _run(f, v)
    if not close(trace(f.gives, left), trace(f.gives, right)):
        lines = (
            *_element_words(f, u),
            "gives:",
            *_words(f, left),
            "in another order, of the same trace:",
            *_element_words(f, v),
            "gives:",
            *_words(f, right),
        )
        raise BrokenLawError(
            f"inputs that are the same trace of {f.reads} have different outputs of {f.gives}",
            lines,
        )


def _reaching(flow: Dataflow, index: int, draw: Draw) -> list[Element]:
    """Return the elements that reach a vertex for a drawn input."""
    data = draw(elements(flow, max_size=MAX_ITEMS))
    record: list[Element] = []
    begin = _recording(flow.vertices[index], record)
    run = GraphRun(flow, lambda key, value: None, begin=begin)
    with _skip_on_error():
        for element in data:
            if isinstance(element, Marker):
                run.marker(element)
            else:
                run.item(*element)
    return record


def _recording(vertex: Vertex, record: list[Element]) -> Callable[[Vertex, Take], VertexRun]:
    """Return a function that starts the vertices before `vertex`, and records the input of `vertex`."""
    reached = False

    def begin(current: Vertex, give: Take) -> VertexRun:
        nonlocal reached
        if current is vertex:
            reached = True
            return _Recorder(current, give, record)
        return _Recorder(current, give, []) if reached else start(current, give)

    return begin


class _Recorder(VertexRun):
    """Appends its input to `record`, and emits nothing."""

    def __init__(self, vertex: Vertex, give: Take, record: list[Element]) -> None:
        super().__init__(vertex, give)
        self._record = record

    def item(self, key: int, value: Any) -> None:
        self._record.append((key, value))

    def marker(self, m: Marker) -> None:
        self._record.append(m)


def _words(f: Transduction, output: list[Element]) -> list[str]:
    return [f"  {line}" for line in trace(f.gives, output).lines()] or ["  nothing"]


def _element_words(f: Transduction, data: list[Element]) -> list[str]:
    return [f"  {element_words(f.reads, element)}" for element in data]


def _input_words(flow: Dataflow, data: list[Element]) -> list[str]:
    """Return an input of the graph in words, one line per event or marker."""
    reads = sources(flow)
    lines = []
    for element in data:
        if isinstance(element, Marker):
            lines.append(f"  # {element.ts}")
        else:
            fields = item_words(reads, element).partition(": ")[2]
            lines.append(f"  {flow.kinds[element[0]]}{fields}")
    return lines
