"""Interprets deployments of a graph, sound or unsound, under any interleaving of their channels."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from streamlab.workloads.model.dataflow.network import Choose, Node, Route, Wire, run
from streamlab.workloads.model.dataflow.operators import OpKeyedUnordered, OpStateless
from streamlab.workloads.model.dataflow.partials import CombiningRun, PartialRun
from streamlab.workloads.model.dataflow.plan import Deployment, Part, Unit
from streamlab.workloads.model.dataflow.traces import Element
from streamlab.workloads.model.dataflow.vertex_reference import Marker, Take, VertexRun, start


def outputs(deployment: Deployment, elements: Iterable[Element], choose: Choose) -> list[Element]:
    """Return the output of a deployment, in one of its possible orders.

    Forwarding calls within a worker are channels here too, so every order in which workers may run is
    one of the interleavings. In an unsound deployment, markers pass through forwarding calls only; other
    instances make markers from the times of their items. An item's key is the index of its source.
    `choose` decides the interleaving, and the source instance of each item.
    """
    instance_ranges: list[range] = []
    for unit in deployment.units:
        begin = instance_ranges[-1].stop if instance_ranges else 0
        instance_ranges.append(range(begin, begin + unit.degree))
    sink = instance_ranges[-1].stop
    nodes = []
    for index, unit in enumerate(deployment.units):
        for i in range(unit.degree):
            wires = [Wire(route=Route.MERGED, to=(sink,))] if index in deployment.answers else []
            for reader in deployment.readers(index):
                route, to = deployment.units[reader].route, instance_ranges[reader]
                wires.append(Wire(route=route, to=(to[i],) if route is Route.FORWARD else (*to,)))
            start_node = _begin(unit, first=i == 0 and unit.handles_markers, sound=deployment.sound)
            nodes.append(Node(name=f"{unit.name} {i}", begin=start_node, wires=tuple(wires)))
    nodes.append(Node(name="sink"))
    feeds = _feeds([instance_ranges[unit] for unit in deployment.sources], elements, choose)
    period = None if deployment.sound else deployment.flow.markers
    return run(nodes, feeds, choose, period=period)[sink]


def _feeds(
    sources: list[range], elements: Iterable[Element], choose: Choose
) -> dict[int, list[Element]]:
    """Return the elements of each source instance; all instances have all markers."""
    feeds: dict[int, list[Element]] = {node: [] for source in sources for node in source}
    for element in elements:
        if isinstance(element, Marker):
            for feed in feeds.values():
                feed.append(element)
        else:
            kind, value = element
            source = sources[kind]
            feeds[source[choose(len(source))]].append((0, value))
    return feeds


def _begin(unit: Unit, *, first: bool, sound: bool) -> Callable[[Take], VertexRun]:
    vertex, operator = unit.vertex, unit.vertex.operator
    if unit.part is Part.PARTIAL:
        return lambda give: PartialRun(vertex, give)
    if unit.part is Part.COMBINING:
        assert isinstance(operator, OpKeyedUnordered), "see can_split"
        return lambda give: CombiningRun(vertex, operator, give)
    if sound and not first and isinstance(operator, OpStateless):
        # All instances get a marker; one instance processes it.
        silent = replace(vertex, operator=replace(operator, on_marker=None))
        return lambda give: start(silent, give)
    return lambda give: start(vertex, give)
