"""Shows a graph and its deployment: what there is to draw, as text, and as Graphviz source."""

from collections.abc import Iterator
from dataclasses import dataclass

from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.plan import Deployment, Part, Unit
from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.types import TraceType

MOST_FIELDS = 4
"""Fields of a type in a label; the others are counted."""

MEANING = {
    Route.ROUND_ROBIN: "round robin: dealt in turn; a stateless operator may be at any item",
    Route.HASH: "hash: by key; an instance has all items of its keys, from all instances before it",
    Route.FORWARD: "forward: by a call, to the same worker; it may, or has these keys already",
    Route.MERGED: "merged: all to the only instance, aligned by markers",
}
PARTIALS = (
    "partial: adds up what its instance sees of a block and gives that at the marker; combine is "
    "associative and commutative"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node of a picture: its name and kind, how far down it stands, below all that it reads."""

    lines: tuple[str, str]
    level: int
    is_source: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An edge of a picture, between boxes."""

    before: int
    behind: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Boxes and arrows; the answer, of a type, leaves some of the boxes, and the last."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    answers: tuple[int, ...]
    answer: str


def short(of: TraceType) -> str:
    """Return a type in few words."""
    fields = of.fields[:MOST_FIELDS]
    more = len(of.fields) - len(fields)
    rest = f" +{more}" if more else ""
    return f"{'O' if of.ordered else 'U'}({of.key or 'unit'}, {' '.join(fields)}{rest})"


def before(flow: Dataflow) -> Picture:
    """Return the picture of a graph as it was written."""
    levels: list[int] = []
    boxes, arrows = [], []
    for index, vertex in enumerate(flow.vertices):
        levels.append(1 + max((levels[i] for i in vertex.inputs), default=-1))
        lines = (vertex.name, _kind(vertex))
        boxes.append(Box(lines=lines, level=levels[-1], is_source=vertex.is_source))
        arrows += [
            Arrow(before=i, behind=index, lines=(short(flow.vertices[i].type),))
            for i in vertex.inputs
        ]
    return Picture(
        title=f"dataflow {flow.name}: markers every {flow.markers:,}",
        boxes=tuple(boxes),
        arrows=tuple(arrows),
        answers=(len(boxes) - 1,),
        answer=short(flow.vertices[-1].type),
    )


def behind(of: Deployment) -> Picture:
    """Return the picture of a deployment: units with their instances, and how pairs reach them."""
    levels: list[int] = []
    boxes, arrows = [], []
    for index, unit in enumerate(of.units):
        levels.append(1 + max((levels[i] for i in unit.inputs), default=-1))
        lines = (unit.name, f"x {unit.degree}")
        boxes.append(Box(lines=lines, level=levels[-1], is_source=unit.vertex.is_source))
        arrows += [
            Arrow(before=i, behind=index, lines=(_given(of.units[i]), unit.route.value))
            for i in unit.inputs
        ]
    word = "worker" if of.workers == 1 else "workers"
    return Picture(
        title=f"{of.workers} {word}" + ("" if of.sound else ", as a system without types"),
        boxes=tuple(boxes),
        arrows=tuple(arrows),
        answers=of.answers,
        answer=short(of.flow.vertices[-1].type),
    )


def _given(unit: Unit) -> str:
    """Return the type of what a unit gives; partial aggregates are of no type of the graph."""
    if unit.part is Part.PARTIAL:
        return f"aggregates of {unit.gives.key or 'unit'}"
    return short(unit.gives)


def deployment_text(of: Deployment) -> str:
    """Return a graph before and after it is deployed, as text."""
    graph = before(of.flow)
    lines = [graph.title]
    lines += _rows(graph)
    deployed = behind(of)
    lines.append(deployed.title)
    lines += _rows(deployed)
    routes = {unit.route for unit in of.units if unit.inputs}
    lines += [f"  {meaning}" for route, meaning in MEANING.items() if route in routes]
    if any(unit.part is Part.PARTIAL for unit in of.units):
        lines.append(f"  {PARTIALS}")
    return "\n".join(lines)


def in_words(of: Deployment) -> str:
    """Return a deployment in one line: its units, how they are reached, their instances."""
    hows = {route: f"{route.value} to " for route in Route} | {Route.FORWARD: ""}
    return " -> ".join(f"{hows[unit.route]}{unit.name} x {unit.degree}" for unit in of.units)


def _rows(of: Picture) -> Iterator[str]:
    """Yield a line for each box: what it is, what it reads, and over what."""
    names, kinds = zip(*(box.lines for box in of.boxes), strict=True)
    width = max(map(len, names))
    wide = max(map(len, kinds))
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        reads = [
            f"{names[arrow.before]} ({', '.join(arrow.lines)})"
            for arrow in of.arrows
            if arrow.behind == index
        ]
        line = f"  {name:<{width}}  {kind:<{wide}}"
        yield (f"{line}  <- {', '.join(reads)}" if reads else line).rstrip()
    answers = ", ".join(f"{names[box]} ({of.answer})" for box in of.answers)
    yield f"  {'answer':<{width}}  {'':<{wide}}  <- {answers}"


def _kind(vertex: Vertex) -> str:
    if vertex.operator is not None:
        return type(vertex.operator).__name__
    return "source" if vertex.is_source else "by ts"


def deployment_dot(of: Deployment) -> str:
    """Return a graph before and after it is deployed, as Graphviz source."""
    import graphviz

    graph = graphviz.Digraph(
        of.flow.name,
        graph_attr={"rankdir": "LR"},
        node_attr={"shape": "box", "fontname": "sans-serif", "fontsize": "11"},
        edge_attr={"fontname": "sans-serif", "fontsize": "9"},
    )
    for number, picture in enumerate((before(of.flow), behind(of))):
        with graph.subgraph(name=f"cluster_{number}") as cluster:
            cluster.attr(label=picture.title, style="dashed")
            for index, box in enumerate(picture.boxes):
                label = graphviz.escape("\n".join(box.lines))
                style = "rounded" if box.is_source else ""
                cluster.node(f"n{number}_{index}", label=label, style=style)
            cluster.node(f"n{number}_answer", label="answer", shape="plaintext")
            last = [Arrow(before=i, behind=-1, lines=(picture.answer,)) for i in picture.answers]
            for arrow in (*picture.arrows, *last):
                to = "answer" if arrow.behind < 0 else arrow.behind
                label = graphviz.escape("\n".join(arrow.lines))
                cluster.edge(f"n{number}_{arrow.before}", f"n{number}_{to}", label=label)
    source: str = graph.source
    return source
