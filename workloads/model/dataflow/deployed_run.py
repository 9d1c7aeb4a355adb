"""Runs deployments of a graph under any interleaving of their channels, and their unsound form."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

from workloads.model.dataflow.deployment import Deployment, Part, Unit
from workloads.model.dataflow.graph import Vertex
from workloads.model.dataflow.network import Choose, Node, Route, Wire, run
from workloads.model.dataflow.operators import OpKeyedUnordered, OpStateless
from workloads.model.dataflow.partials import CombiningRun, PartialRun
from workloads.model.dataflow.traces import Element
from workloads.model.dataflow.vertex_run import Marker, Take, VertexRun, start
from workloads.model.errors import ProgramError


def outputs(
    of: Deployment, elements: Iterable[Element], choose: Choose, *, sound: bool = True
) -> list[Element]:
    """Return what leaves a deployment, in some order in which that may happen.

    Args:
        of: the deployment.
        elements: items of sources, the key of each the index of its source, and markers.
        choose: decides the interleaving, and which instance of a source has an item.
        sound: False: as an untyped system would run it (`soundness = "none"`, section 2 of the
            paper). No markers go between instances, each has its own, of the times that it sees; so
            there is nothing to sort by either, and SORT hands items on.

    Raises:
        ProgramError: it is to be unsound and has partial aggregates, which are given at markers.
    """
    first = {}
    nodes: list[Node] = []
    for unit in range(len(of.units)):
        first[unit] = len(nodes)
        nodes += [
            Node(name=_name(of, unit, i), begin=_beginning(of, unit, i, sound))
            for i in range(of.units[unit].degree)
        ]
    sink = len(nodes)
    for unit, at in first.items():
        for i in range(of.units[unit].degree):
            wires = [Wire(route=Route.MERGED, to=(sink,))] if unit == len(of.units) - 1 else []
            for link in of.out_of(unit):
                to = first[link.behind]
                spread = range(to, to + of.units[link.behind].degree)
                if link.route is Route.FORWARD:
                    spread = range(to + i, to + i + 1)
                wires.append(Wire(route=link.route, to=tuple(spread)))
            nodes[at + i] = replace(nodes[at + i], wires=tuple(wires))
    nodes.append(Node(name="sink"))
    feeds = _feeds(of, first, elements, choose)
    return run(nodes, feeds, choose, period=None if sound else of.flow.markers)[sink]


def _name(of: Deployment, unit: int, instance: int) -> str:
    return f"{'; '.join(of.vertex(part).name for part in of.units[unit].parts)} {instance}"


def _feeds(
    of: Deployment, first: dict[int, int], elements: Iterable[Element], choose: Choose
) -> dict[int, list[Element]]:
    """Return what each instance of a source gives; markers are of all of them."""
    found: dict[int, list[Element]] = {}
    instances: list[range] = []
    for source in of.flow.sources:
        whole = ((source, Part.WHOLE),)
        unit = next(i for i, unit in enumerate(of.units) if unit.parts == whole)
        instances.append(range(first[unit], first[unit] + of.units[unit].degree))
        found |= {node: [] for node in instances[-1]}
    for element in elements:
        if isinstance(element, Marker):
            for fed in found.values():
                fed.append(element)
        else:
            kind, value = element
            of_kind = instances[kind]
            found[of_kind[choose(len(of_kind))]].append((0, value))
    return found


class _Chain(VertexRun):
    """Vertices, or parts of them, that run one after another in one instance."""

    def __init__(self, vertex: Vertex, runs: list[VertexRun], give: Take) -> None:
        super().__init__(vertex, give)
        self._runs = runs
        for one, behind in pairwise(runs):
            one.give = behind.item
        runs[-1].give = give
        self.item = runs[0].item  # type: ignore[method-assign]  # one call less for each item

    def marker(self, m: Marker) -> None:
        for part in self._runs:
            part.marker(m)


def _beginning(
    of: Deployment, unit: int, instance: int, sound: bool
) -> Callable[[Take], VertexRun]:
    def begin(give: Take) -> VertexRun:
        runs = [
            _part(of, of.units[unit], at, instance, give, sound) for at in range(_parts(of, unit))
        ]
        return _Chain(of.vertex(of.units[unit].parts[-1]), runs, give)

    return begin


def _parts(of: Deployment, unit: int) -> int:
    return len(of.units[unit].parts)


def _part(of: Deployment, unit: Unit, at: int, instance: int, give: Take, sound: bool) -> VertexRun:
    index, part = unit.parts[at]
    vertex = of.flow.vertices[index]
    operator = vertex.operator
    if part is not Part.WHOLE:
        if not sound:
            raise ProgramError(f"{vertex.name}: partial aggregates need markers; deploy without")
        if part is Part.PARTIAL:
            return PartialRun(vertex, give)
        assert isinstance(operator, OpKeyedUnordered), "see has_parts"
        return CombiningRun(vertex, operator, give)
    if not sound and vertex.is_sort:
        return VertexRun(vertex, give)
    if sound and instance and isinstance(operator, OpStateless):
        # A marker goes through all instances, and one of them processes it.
        return start(replace(vertex, operator=replace(operator, on_marker=None)), give)
    return start(vertex, give)
