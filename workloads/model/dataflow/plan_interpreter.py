"""Runs deployments of a graph under any interleaving of their channels, and their unsound form."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from streamlab.workloads.model.dataflow.network import Choose, Node, Route, Wire, run
from streamlab.workloads.model.dataflow.operators import OpKeyedUnordered, OpStateless
from streamlab.workloads.model.dataflow.partials import CombiningRun, PartialRun
from streamlab.workloads.model.dataflow.plan import Deployment, Part, Unit
from streamlab.workloads.model.dataflow.traces import Element
from streamlab.workloads.model.dataflow.vertex_reference import Marker, Take, VertexRun, start


def outputs(of: Deployment, elements: Iterable[Element], choose: Choose) -> list[Element]:
    """Return what leaves a deployment, in some order in which that may happen.

    The calls by which a worker forwards are channels here, too: every order in which workers may
    run is one of the interleavings. In the unsound form markers go by such calls alone; other
    instances have their own, of the times that they see.

    Args:
        of: the deployment.
        elements: items of sources, the key of each the index of its source, and markers.
        choose: decides the interleaving, and which instance of a source has an item.
    """
    spreads: list[range] = []
    for unit in of.units:
        begin = spreads[-1].stop if spreads else 0
        spreads.append(range(begin, begin + unit.degree))
    sink = spreads[-1].stop
    nodes = []
    for index, unit in enumerate(of.units):
        for i in range(unit.degree):
            wires = [Wire(route=Route.MERGED, to=(sink,))] if index in of.answers else []
            for reader in of.readers(index):
                route, to = of.units[reader].route, spreads[reader]
                wires.append(Wire(route=route, to=(to[i],) if route is Route.FORWARD else (*to,)))
            begins = _beginning(unit, first=i == 0 and unit.marks, sound=of.sound)
            nodes.append(Node(name=f"{unit.name} {i}", begin=begins, wires=tuple(wires)))
    nodes.append(Node(name="sink"))
    feeds = _feeds([spreads[unit] for unit in of.sources], elements, choose)
    return run(nodes, feeds, choose, period=None if of.sound else of.flow.markers)[sink]


def _feeds(
    sources: list[range], elements: Iterable[Element], choose: Choose
) -> dict[int, list[Element]]:
    """Return what each instance of a source gives; markers are of all of them."""
    found: dict[int, list[Element]] = {node: [] for source in sources for node in source}
    for element in elements:
        if isinstance(element, Marker):
            for fed in found.values():
                fed.append(element)
        else:
            kind, value = element
            source = sources[kind]
            found[source[choose(len(source))]].append((0, value))
    return found


def _beginning(unit: Unit, *, first: bool, sound: bool) -> Callable[[Take], VertexRun]:
    vertex, operator = unit.vertex, unit.vertex.operator
    if unit.part is Part.PARTIAL:
        return lambda give: PartialRun(vertex, give)
    if unit.part is Part.COMBINING:
        assert isinstance(operator, OpKeyedUnordered), "see has_parts"
        return lambda give: CombiningRun(vertex, operator, give)
    if sound and not first and isinstance(operator, OpStateless):
        # A marker goes through all instances, and one of them processes it.
        silent = replace(vertex, operator=replace(operator, on_marker=None))
        return lambda give: start(silent, give)
    return lambda give: start(vertex, give)
