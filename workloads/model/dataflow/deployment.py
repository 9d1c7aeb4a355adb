"""Deployments of a graph: how many instances each vertex has, and how they are wired.

Every deployment equals the graph as a data-trace transduction (Data-Trace Types, Corollary 4.4),
because it is made by rules that keep the meaning (Theorem 4.3 and the table of MRG and HASH):

    stateless      MRG >> op = (op || ... || op) >> MRG, behind any splitter: RR
    keyed          op = HASH >> (op || ... || op) >> MRG
    SORT           SORT = HASH >> (SORT || ... || SORT) >> MRG: behind HASH, with what reads it
    reordering     MRG >> HASH = (HASH || ... || HASH) >> (MRG || ... || MRG), wires crossed
    disjoint keys  MRG >> HASH = identity, where instances have the keys that HASH gives them
    partials       op = (partial || ... || partial) >> HASH >> (combining || ... || combining)
    fusion         what only forwards to one reader is one with it; MRG before and HASH behind too

The marker of a stateless operator is passed to all of its instances and processed by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from workloads.model.dataflow.graph import Dataflow, Vertex
from workloads.model.dataflow.network import Route
from workloads.model.dataflow.operators import OpKeyedOrdered, OpStateless
from workloads.model.dataflow.partials import has_parts
from workloads.model.errors import ProgramError


class Part(Enum):
    """What of a vertex a unit does."""

    WHOLE = "whole"
    PARTIAL = "partial"
    """The aggregate of each key of a block, given at the marker: see `partials`."""
    COMBINING = "combining"
    """What those add up to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What runs in one thread of control: vertices, one after another, or parts of them.

    Attributes:
        parts: the vertices, by index, with what of them it does; each reads the one before.
        degree: how many instances it has.
    """

    parts: tuple[tuple[int, Part], ...]
    degree: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An edge between units: which units, and how pairs find their instance."""

    before: int
    behind: int
    route: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A graph as it runs in parallel.

    Attributes:
        flow: the graph.
        workers: how many instances a vertex has that does not say less.
        units: each behind those that it reads; the last one's output is the answer.
        links: the edges between them.
    """

    flow: Dataflow
    workers: int
    units: tuple[Unit, ...]
    links: tuple[Link, ...]

    def degree(self, vertex: int) -> int:
        """Return how many instances a vertex has; in two parts: the combining one."""
        return max(
            unit.degree
            for unit in self.units
            for index, part in unit.parts
            if index == vertex and part is not Part.PARTIAL
        )

    def into(self, unit: int) -> tuple[Link, ...]:
        """Return the links to a unit."""
        return tuple(link for link in self.links if link.behind == unit)

    def out_of(self, unit: int) -> tuple[Link, ...]:
        """Return the links from a unit."""
        return tuple(link for link in self.links if link.before == unit)

    def vertex(self, part: tuple[int, Part]) -> Vertex:
        """Return the vertex of a part."""
        return self.flow.vertices[part[0]]


def deploy(
    flow: Dataflow,
    workers: int,
    *,
    degrees: Mapping[str, int] | None = None,
    partials: bool = True,
    fusion: bool = True,
) -> Deployment:
    """Return a deployment of a graph.

    Args:
        flow: the graph.
        workers: how many instances a vertex has, unless it says less or has one key only.
        degrees: of vertices by name, in place of that.
        partials: whether operators that can be are split into partial and combining ones.
        fusion: whether what only forwards to one reader becomes one with it.

    Raises:
        ProgramError: a degree is not positive, or of no vertex, or of one that has one key only.
    """
    chosen = _degrees(flow, workers, dict(degrees or {}))
    units: list[Unit] = []
    links: list[Link] = []

    def add(part: Part, index: int, degree: int, edges: list[tuple[int, Route]]) -> int:
        links.extend(Link(before=unit, behind=len(units), route=route) for unit, route in edges)
        units.append(Unit(parts=((index, part),), degree=degree))
        return len(units) - 1

    last: dict[int, int] = {}
    for index, vertex in enumerate(flow.vertices):
        routes = [_route(flow, before, index, chosen) for before in vertex.inputs]
        part = Part.WHOLE
        edges = [(last[before], route) for before, route in zip(vertex.inputs, routes, strict=True)]
        sources = [flow.vertices[before].is_source for before in vertex.inputs]
        moving = any(route in (Route.HASH, Route.MERGED) for route in routes)
        # A source has one instance; partial aggregates of what it gives may have more.
        spreads = [_at_most(vertex, workers) if is_source else 1 for is_source in sources]
        if partials and has_parts(vertex) and (moving or max(spreads, default=1) > 1):
            part, edges = Part.COMBINING, []
            for before, route, most in zip(vertex.inputs, routes, spreads, strict=True):
                m = chosen[before]
                n = max(m, most)
                spread = Route.FORWARD if n == m else Route.ROUND_ROBIN
                unit = add(Part.PARTIAL, index, n, [(last[before], spread)])
                if chosen[index] == 1:
                    route = Route.FORWARD if n == 1 else Route.MERGED
                edges.append((unit, route))
        last[index] = add(part, index, chosen[index], edges)
    found = Deployment(flow=flow, workers=workers, units=tuple(units), links=tuple(links))
    return _fused(found) if fusion else found


def is_stateless(vertex: Vertex) -> bool:
    """Return whether any instance may process any item; the others need those of their keys."""
    return vertex.is_source or isinstance(vertex.operator, OpStateless)


def has_disjoint_keys(vertex: Vertex) -> bool:
    """Return whether what different instances give has different keys, those HASH gives them."""
    return vertex.is_sort or isinstance(vertex.operator, OpKeyedOrdered)


def _route(flow: Dataflow, before: int, behind: int, degrees: Mapping[int, int]) -> Route:
    m, n = degrees[before], degrees[behind]
    if m == n == 1:
        return Route.FORWARD
    if n == 1:
        return Route.MERGED
    same = is_stateless(flow.vertices[behind]) or has_disjoint_keys(flow.vertices[before])
    if m == n and same:
        return Route.FORWARD
    return Route.ROUND_ROBIN if is_stateless(flow.vertices[behind]) else Route.HASH


def _at_most(vertex: Vertex, workers: int) -> int:
    return workers if vertex.degree is None else min(vertex.degree, workers)


def _degrees(flow: Dataflow, workers: int, given: dict[str, int]) -> dict[int, int]:
    where = f"dataflow {flow.name}"
    names = [vertex.name for vertex in flow.vertices]
    for name, degree in given.items():
        if name not in names:
            raise ProgramError(f"{where} has no vertex {name}, but {', '.join(names)}")
        if degree < 1:
            raise ProgramError(f"{where}: {name} has degree {degree}; at least 1")
    found: dict[int, int] = {}
    # Backwards: SORT has as many instances as what reads it, so that the two are one.
    for index in reversed(range(len(names))):
        vertex = flow.vertices[index]
        if vertex.name in given:
            found[index] = given[vertex.name]
        elif vertex.is_source:
            found[index] = 1
        else:
            readers = flow.readers(index)
            alone = vertex.is_sort and len(readers) == 1
            found[index] = _at_most(vertex, workers)
            if alone and not is_stateless(flow.vertices[readers[0]]):
                found[index] = found[readers[0]]
        one_key = not is_stateless(vertex) and flow.reads(index).key is None
        if one_key and vertex.name in given and found[index] > 1:
            raise ProgramError(
                f"{where}: {vertex.name} has degree {found[index]}, and all that it reads, "
                f"{flow.reads(index)}, has one key: give it degree 1, or keys before it"
            )
        found[index] = 1 if one_key else found[index]
    return found


def _fused(of: Deployment) -> Deployment:
    """Return a deployment in which what only forwards to one reader is one with it."""
    into = {unit: of.into(unit) for unit in range(len(of.units))}
    units: list[Unit] = []
    place: dict[int, int] = {}
    for index, unit in enumerate(of.units):
        (link,) = into[index] if len(into[index]) == 1 else (None,)
        if link is not None and _is_one(of, link):
            place[index] = place[link.before]
            grown = units[place[index]]
            units[place[index]] = replace(grown, parts=grown.parts + unit.parts)
        else:
            place[index] = len(units)
            units.append(unit)
    links = tuple(
        Link(before=place[link.before], behind=place[link.behind], route=link.route)
        for link in of.links
        if place[link.before] != place[link.behind]
    )
    return _in_order(replace(of, units=tuple(units), links=links))


def _is_one(of: Deployment, link: Link) -> bool:
    is_source = of.vertex(of.units[link.before].parts[0]).is_source
    return link.route is Route.FORWARD and len(of.out_of(link.before)) == 1 and not is_source


def _in_order(of: Deployment) -> Deployment:
    """Return a deployment with each unit behind those that it reads: by its last vertex."""
    order = sorted(range(len(of.units)), key=lambda unit: _end(of.units[unit]))
    place = {old: new for new, old in enumerate(order)}
    links = (
        Link(before=place[link.before], behind=place[link.behind], route=link.route)
        for link in of.links
    )
    return replace(of, units=tuple(of.units[old] for old in order), links=tuple(links))


def _end(unit: Unit) -> tuple[int, bool]:
    index, part = unit.parts[-1]
    return index, part is not Part.PARTIAL
