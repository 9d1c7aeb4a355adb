"""The laws that `check` tests on typed dataflow graphs, each as a function that raises.

Each draws an input of the graph, runs a vertex or the whole on it by the interpreter, and raises a
counterexample when the law does not hold. What a vertex is given is what reaches it; inputs that a
vertex before it cannot process are left out, and are for the law `emits` of that one.

Deployments rest on them: Theorem 4.2 says that operators that follow their template are consistent,
which a template cannot see to alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from streamlab.workloads.model.dataflow.call_recording import keeping_keys, watched
from streamlab.workloads.model.dataflow.operators import (
    FlowOperator,
    OpKeyedOrdered,
    OpKeyedUnordered,
)
from streamlab.workloads.model.dataflow.plan import deploy
from streamlab.workloads.model.dataflow.plan_interpreter import outputs
from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.reference import GraphRun
from streamlab.workloads.model.dataflow.rounding import close, near
from streamlab.workloads.model.dataflow.traces import (
    Element,
    Transduction,
    item_words,
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
    filled,
    start,
)
from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.dgs.program import Record
from streamlab.workloads.model.dgs.rounding import Rounding, in_tenths
from streamlab.workloads.model.dgs.wires import Draw
from streamlab.workloads.model.streams.records import RecordType
from streamlab.workloads.model.streams.strategies import elements, equivalents

MAX_ITEMS = 10
"""Most items of an input."""
MAX_INSTANCES = 3
MAX_COMBINED = 3
"""Most items of an aggregate that the laws of monoids are tested on."""


def keys_are_kept(flow: Dataflow, index: int, draw: Draw) -> None:
    """Keys: what an OpKeyedOrdered gives has the key of the item or state at hand.

    Its instances give what is in order for each of their keys, and only of those.
    """
    data = _reaching(flow, index, draw)
    with _of_this_law_only():
        _run_alone(keeping_keys(flow.vertices[index]), data)


def functions_are_pure(flow: Dataflow, index: int, draw: Draw) -> None:
    """Pure: functions change only what they fill, and do the same for the same arguments.

    Whoever runs them may do so in any thread, and for any instance.
    """
    data = _reaching(flow, index, draw)
    with _of_this_law_only():
        _run_alone(watched(flow.vertices[index]), data)


def outputs_are_declared(flow: Dataflow, index: int, draw: Draw) -> None:
    """Emits: no call gives more than `max_outputs` pairs, and what it gives fits its type."""
    _run_alone(flow.vertices[index], _reaching(flow, index, draw))


def identity_is_neutral(flow: Dataflow, index: int, draw: Draw) -> None:
    """Identity: combine(x, identity) = x = combine(identity, x)."""
    monoid = _Monoid(flow, index, draw)
    x = monoid.draw(draw)
    neutral = monoid.identity()
    monoid.require("combine(x, identity) is not x", x, monoid.both(x, neutral), x=x, id=neutral)
    monoid.require("combine(identity, x) is not x", x, monoid.both(neutral, x), x=x, id=neutral)


def combine_commutes(
    flow: Dataflow, index: int, draw: Draw, rounding: Rounding | None = None
) -> None:
    """Commutative: combine(x, y) = combine(y, x)."""
    monoid = _Monoid(flow, index, draw, rounding)
    x, y = monoid.draw(draw), monoid.draw(draw)
    law = "combine(x, y) is not combine(y, x)"
    monoid.require(law, monoid.both(x, y), monoid.both(y, x), x=x, y=y)


def combine_associates(
    flow: Dataflow, index: int, draw: Draw, rounding: Rounding | None = None
) -> None:
    """Associative: combine(combine(x, y), z) = combine(x, combine(y, z))."""
    monoid = _Monoid(flow, index, draw, rounding)
    x, y, z = monoid.draw(draw), monoid.draw(draw), monoid.draw(draw)
    left = monoid.both(monoid.both(x, y), z)
    right = monoid.both(x, monoid.both(y, z))
    law = "combine(combine(x, y), z) is not combine(x, combine(y, z))"
    monoid.require(law, left, right, x=x, y=y, z=z)


def vertex_is_consistent(flow: Dataflow, index: int, draw: Draw) -> None:
    """Consistent: a vertex gives equivalent outputs for equivalent inputs (Definition 3.5)."""
    _consistent(
        of_vertex(flow.vertices[index], flow.reads(index)), _reaching(flow, index, draw), draw
    )


def graph_is_consistent(flow: Dataflow, draw: Draw) -> None:
    """Consistent: the whole gives equivalent outputs for equivalent inputs."""
    _consistent(of_graph(flow), draw(elements(flow, max_size=MAX_ITEMS)), draw)


def graph_is_monotone(flow: Dataflow, draw: Draw) -> None:
    """Monotone: the answer to a part is a prefix of the answer to all (Definition 3.6)."""
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
        raise BrokenLawError("what was given is taken back when more comes", lines)


def runs_repeat(flow: Dataflow, draw: Draw) -> None:
    """Repeat: the same input gives the same answer; functions keep nothing outside the states."""
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
    """Split: every deployment gives the sequential answer, as a data trace (Corollary 4.4)."""
    data = draw(elements(flow, max_size=MAX_ITEMS))
    workers = draw(st.integers(1, MAX_INSTANCES))
    f = of_graph(flow)
    expected = _run(f, data)
    streams = [draw(st.integers(1, workers)) for _ in flow.kinds]
    chosen = deploy(flow, workers, streams=streams, partials=draw(st.booleans()))
    found = outputs(chosen, data, lambda n: draw(st.integers(0, n - 1)) if n > 1 else 0)
    if not close(trace(f.gives, found), trace(f.gives, expected)):
        lines = (
            *_input_words(flow, data),
            "one instance of each:",
            *_words(f, expected),
            f"{workers} workers, as many streams as {', '.join(map(str, streams))}:",
            *_words(f, found),
        )
        raise BrokenLawError("the answer depends on the number of instances", lines)


OF_MONOIDS = (("associative", combine_associates), ("commutative", combine_commutes))
"""The laws of aggregates that rounding breaks."""

OF_GRAPHS: tuple[tuple[str, Callable[[Dataflow, Draw], None]], ...] = (
    ("consistent", graph_is_consistent),
    ("monotone", graph_is_monotone),
    ("repeat", runs_repeat),
    ("split", deployments_do_not_matter),
)
"""The laws of whole graphs."""


def of_vertex_alone(
    operator: FlowOperator,
) -> Iterator[tuple[str, Callable[[Dataflow, int, Draw], None]]]:
    """Yield the laws of a vertex; where one fails, those behind it mostly do so too."""
    if isinstance(operator, OpKeyedOrdered):
        yield "keys", keys_are_kept
    yield "pure", functions_are_pure
    yield "emits", outputs_are_declared
    if isinstance(operator, OpKeyedUnordered):
        yield "associative", combine_associates
        yield "commutative", combine_commutes
        yield "identity", identity_is_neutral
    yield "consistent", vertex_is_consistent


class _Monoid:
    """The aggregates of a vertex: those that items which reach it add up to.

    With a `rounding`, the floats of items are tenths, and it records differences.
    """

    def __init__(
        self, flow: Dataflow, index: int, draw: Draw, rounding: Rounding | None = None
    ) -> None:
        operator = flow.vertices[index].operator
        assert isinstance(operator, OpKeyedUnordered), "only those have aggregates"
        self._operator = operator
        self._type = RecordType("aggregate", operator.aggregate)
        self._reads = operator.reads
        seen = _reaching(flow, index, draw)
        self._items: list[Item] = [e for e in seen if not isinstance(e, Marker)]
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
        found = self._take(items[0])
        for item in items[1:]:
            found = self.both(found, self._take(item))
        return found

    def _take(self, item: Item) -> Record:
        made = self._type.zeroed()
        with _rejecting():
            self._operator.take(made, *item)
        return made

    def identity(self) -> Record:
        """Return the neutral element."""
        return filled(self._type, self._operator.identity)

    def both(self, x: Record, y: Record) -> Record:
        """Return the combination of two; of copies, as they are used again."""
        made = self._type.zeroed()
        with _rejecting():
            self._operator.combine(self._type.copy(x), self._type.copy(y), made)
        return made

    def require(self, law: str, left: Record, right: Record, **of: Record) -> None:
        """Raise when two aggregates differ by more than rounding."""
        values = self._type.values(left), self._type.values(right)
        if near(*values) if self._rounding is None else self._rounding.equal(*values):
            return
        lines = [*self._lines]
        lines += [f"{name}: {self._type.words(record)}" for name, record in of.items()]
        lines += [f"left side: {self._type.words(left)}", f"right side: {self._type.words(right)}"]
        raise BrokenLawError(law, tuple(lines))


@contextmanager
def _rejecting() -> Iterator[None]:
    """Leave an example out when a function raises: that is for the law `emits`."""
    try:
        yield
    except BrokenLawError:
        raise
    except Exception:
        assume(False)


@contextmanager
def _of_this_law_only() -> Iterator[None]:
    """Look no further when a function raises: that is for the law `emits`."""
    try:
        yield
    except BrokenLawError:
        raise
    except Exception:
        return


def _run(f: Transduction, data: list[Element]) -> list[Element]:
    with _rejecting():
        return f.lifted(data)
    return []  # not reached: such an example is left out


def _run_alone(vertex: Vertex, data: list[Element]) -> None:
    of_vertex(vertex, vertex.type).lifted(data)


def _consistent(f: Transduction, u: list[Element], draw: Draw) -> None:
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
            f"inputs that are the same trace of {f.reads} give different traces of {f.gives}", lines
        )


def _reaching(flow: Dataflow, index: int, draw: Draw) -> list[Element]:
    """Return what reaches a vertex for a drawn input."""
    data = draw(elements(flow, max_size=MAX_ITEMS))
    seen: list[Element] = []
    run = GraphRun(flow, _lost, begin=_up_to(flow.vertices[index], seen))
    with _rejecting():
        for element in data:
            if isinstance(element, Marker):
                run.marker(element)
            else:
                run.item(*element)
    return seen


def _up_to(vertex: Vertex, seen: list[Element]) -> Callable[[Vertex, Take], VertexRun]:
    """Return what starts the vertices of a graph, but keeps what reaches one."""
    reached = False

    def begin(of: Vertex, give: Take) -> VertexRun:
        nonlocal reached
        if of is vertex:
            reached = True
            return _Seen(of, give, seen)
        return VertexRun(of, give) if reached else start(of, give)

    return begin


class _Seen(VertexRun):
    def __init__(self, vertex: Vertex, give: Take, seen: list[Element]) -> None:
        super().__init__(vertex, give)
        self._seen = seen

    def item(self, key: int, value: Any) -> None:
        self._seen.append((key, value))

    def marker(self, m: Marker) -> None:
        self._seen.append(m)


def _lost(key: int, value: Any) -> None:
    """Take what nobody asks for."""


def _words(f: Transduction, given: list[Element]) -> list[str]:
    return [f"  {line}" for line in trace(f.gives, given).lines()] or ["  nothing"]


def _element_words(f: Transduction, data: list[Element]) -> list[str]:
    return [f"  # {e.ts}" if isinstance(e, Marker) else f"  {item_words(f.reads, e)}" for e in data]


def _input_words(flow: Dataflow, data: list[Element]) -> list[str]:
    """Return an input of the graph in words, a line for each event and marker."""
    reads = sources(flow)
    lines = []
    for element in data:
        if isinstance(element, Marker):
            lines.append(f"  # {element.ts}")
        else:
            fields = item_words(reads, element).partition(": ")[2]
            lines.append(f"  {flow.kinds[element[0]]}{fields}")
    return lines
