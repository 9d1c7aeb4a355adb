"""Describes typed dataflow graphs and their deployments as pictures."""

from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.operators import OpKeyedOrdered, OpKeyedUnordered
from streamlab.workloads.model.dataflow.plan import Deployment, Part, Unit
from streamlab.workloads.model.dataflow.program import Dataflow
from streamlab.workloads.model.dataflow.types import TraceType
from streamlab.workloads.model.picture import Arrow, Box, Picture, workers_text

MAX_FIELDS = 4
"""Largest number of field names in a label; further fields are counted."""

MEANING = {
    Route.ROUND_ROBIN: "round robin: to each instance in turn; any may process any item",
    Route.HASH: "hash: by key; an instance gets all items of its keys, from all instances before it",
    Route.FORWARD: "forward: by a call on the same worker, which may process these items",
    Route.MERGED: "merged: all to the only instance, aligned by markers",
}
PARTIALS = "partial: aggregates its instance's items of a block, and emits that at the marker"


def type_label(link: TraceType) -> str:
    """Return a type in few words, e.g. `U(plug, ts load +3)`."""
    fields = link.fields[:MAX_FIELDS]
    hidden_fields = len(link.fields) - len(fields)
    rest = f" +{hidden_fields}" if hidden_fields else ""
    return f"{'O' if link.ordered else 'U'}({link.key or 'unit'}, {' '.join(fields)}{rest})"


def graph_picture(flow: Dataflow) -> Picture:
    """Return the picture of a graph as written."""
    levels: list[int] = []
    boxes, arrows = [], []
    for index, vertex in enumerate(flow.vertices):
        levels.append(1 + max((levels[i] for i in vertex.inputs), default=-1))
        kind = "source" if vertex.is_source else "by ts"
        kind = kind if vertex.operator is None else type(vertex.operator).__name__
        lines = (vertex.name, kind)
        boxes.append(Box(lines=lines, level=levels[-1], is_source=vertex.is_source))
        arrows += [
            Arrow(source=i, target=index, lines=(type_label(flow.vertices[i].type),))
            for i in vertex.inputs
        ]
    return Picture(
        title=f"dataflow {flow.name}: markers every {flow.markers:,}",
        boxes=tuple(boxes),
        arrows=tuple(arrows),
        answers=(len(boxes) - 1,),
        answer=type_label(flow.vertices[-1].type),
    )


def deployment_picture(deployment: Deployment) -> Picture:
    """Return the picture of a deployment: its units, their instances, and the routes between them."""
    levels: list[int] = []
    boxes, arrows = [], []
    for index, unit in enumerate(deployment.units):
        levels.append(1 + max((levels[i] for i in unit.inputs), default=-1))
        lines = (unit.name, f"x {unit.degree}", *_state_line(unit))
        boxes.append(Box(lines=lines, level=levels[-1], is_source=unit.vertex.is_source))
        for i in unit.inputs:
            input_unit = deployment.units[i]
            label = type_label(input_unit.output_type)
            if input_unit.part is Part.PARTIAL:  # partial aggregates have no type of the graph
                label = f"aggregates of {input_unit.output_type.key or 'unit'}"
            arrows.append(Arrow(source=i, target=index, lines=(label, unit.route.value)))
    routes = {unit.route for unit in deployment.units if unit.inputs}
    notes = [meaning for route, meaning in MEANING.items() if route in routes]
    if any(unit.part is Part.PARTIAL for unit in deployment.units):
        notes.append(PARTIALS)
    system = "" if deployment.sound else ", as a system without types"
    return Picture(
        title=f"{workers_text(deployment.workers)}{system}",
        boxes=tuple(boxes),
        arrows=tuple(arrows),
        answers=deployment.answers,
        answer=type_label(deployment.flow.vertices[-1].type),
        notes=tuple(notes),
    )


def _state_line(unit: Unit) -> tuple[str, ...]:
    """Return the state of a unit's operator in words, if it has one."""
    operator = unit.vertex.operator
    if isinstance(operator, OpKeyedOrdered):
        size = operator.state.itemsize
    elif isinstance(operator, OpKeyedUnordered):
        size = operator.aggregate.itemsize
        size += 0 if unit.part is Part.PARTIAL else operator.state.itemsize
    else:
        return ()
    return (f"state {size:,} bytes{'' if unit.input_type.key is None else ' per key'}",)


def pictures_of(deployment: Deployment) -> tuple[Picture, Picture]:
    """Return the pictures of a graph and its deployment."""
    return graph_picture(deployment.flow), deployment_picture(deployment)


def describe_deployment(deployment: Deployment) -> str:
    """Return a deployment in one line: routes, units and numbers of instances."""
    prefixes = {route: f"{route.value} to " for route in Route} | {Route.FORWARD: ""}
    return " -> ".join(
        f"{prefixes[unit.route]}{unit.name} x {unit.degree}" for unit in deployment.units
    )
