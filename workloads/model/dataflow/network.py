"""Interprets networks of instances under any interleaving of their channels.

A node merges what it reads (MRG), does something, and splits what it gives (RR, HASH), which is the
fused form `MRG; op; HASH` that a deployment of a graph has (Data-Trace Types, Corollary 4.4).
Channels are first in, first out. A node takes from any channel that has something, in whatever
order it is told, but not beyond a marker until that marker has come on all its channels: they are
aligned.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count

from streamlab.workloads.model.dataflow.traces import Element
from streamlab.workloads.model.dataflow.vertex_reference import Marker, Take, VertexRun
from streamlab.workloads.model.operators.key_buckets import hash_key

Choose = Callable[[int], int]
"""Returns a number below the one that it is given: which of so many channels is served next."""


class Route(Enum):
    """How the pairs that leave an instance find those of its reader; markers go to all of them."""

    FORWARD = "forward"
    """To the instance of the same number."""
    ROUND_ROBIN = "round robin"
    """To each in turn: RR of the paper."""
    HASH = "hash"
    """To the one that has the key: HASH of the paper."""
    MERGED = "merged"
    """To the only one there is: MRG of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A splitter: channels to the instances of one reader."""

    route: Route
    to: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of a network.

    Attributes:
        name: how messages call it.
        begin: starts it; what it is given takes what leaves it. None: it hands items on.
        wires: what it gives goes into each of these; none: it is what leaves the network.
    """

    name: str
    begin: Callable[[Take], VertexRun] | None = None
    wires: tuple[Wire, ...] = ()


def place(key: int, instances: int) -> int:
    """Return which of so many instances has a key."""
    return hash_key(key) % instances


def run(
    nodes: Sequence[Node],
    feeds: Mapping[int, Sequence[Element]],
    choose: Choose,
    *,
    period: int | None = None,
) -> dict[int, list[Element]]:
    """Return what leaves the network at each node without wires.

    Args:
        nodes: the network; without cycles.
        feeds: what comes from outside, to which node.
        choose: decides the interleaving.
        period: None: markers are those of the feeds, and go with the items. Otherwise the unsound
            form, that of an untyped system (section 2 of the paper): the markers of the feeds are
            dropped, none go between nodes but by FORWARD, and each node without such an input takes
            its own whenever an item that it sees has reached the next multiple of the period.
    """
    network = _Network(nodes, feeds, period)
    while ready := network.ready():
        network.serve(ready[choose(len(ready))])
    return network.left


@dataclass(slots=True)
class _Channel:
    to: int
    waiting: deque[Element]
    markers: int = 0


class _Network:
    def __init__(
        self, nodes: Sequence[Node], feeds: Mapping[int, Sequence[Element]], period: int | None
    ) -> None:
        self._nodes = nodes
        self._period = period
        self._due: list[int | None] = [None] * len(nodes)
        forwarded = (w.to for node in nodes for w in node.wires if w.route is Route.FORWARD)
        self._follows = {to for (to,) in forwarded}
        self._markers = [0] * len(nodes)
        self._into: list[list[_Channel]] = [[] for _ in nodes]
        self.left: dict[int, list[Element]] = {}
        for node, elements in feeds.items():
            sent = elements if period is None else (e for e in elements if not _is_marker(e))
            self._into[node].append(_Channel(node, deque(sent)))
        self._out = [self._wired(index, node) for index, node in enumerate(nodes)]
        self._channels = [channel for channels in self._into for channel in channels]
        self._runs = [
            None if node.begin is None else node.begin(self._out[index][0])
            for index, node in enumerate(nodes)
        ]

    def _wired(self, index: int, node: Node) -> tuple[Take, Callable[[Marker], None]]:
        """Make the channels that leave a node; return what sends items and markers into them."""
        if not node.wires:
            left = self.left.setdefault(index, [])
            return lambda key, value: left.append((key, value)), left.append
        sends: list[Take] = []
        marked: list[_Channel] = []
        for wire in node.wires:
            made = [_Channel(to, deque()) for to in wire.to]
            for channel in made:
                self._into[channel.to].append(channel)
            if self._period is None or wire.route is Route.FORWARD:
                marked += made
            sends.append(_splitter(wire.route, made))

        def item(key: int, value: object) -> None:
            for send in sends:
                send(key, value)

        def marker(m: Marker) -> None:
            for channel in marked:
                channel.waiting.append(m)

        return item, marker

    def ready(self) -> list[_Channel]:
        """Return the channels that may be served: not those that are a marker ahead of others."""
        return [c for c in self._channels if c.waiting and c.markers == self._markers[c.to]]

    def serve(self, channel: _Channel) -> None:
        """Give the next of a channel to its reader."""
        element, node = channel.waiting.popleft(), channel.to
        if isinstance(element, Marker):
            channel.markers += 1
            if all(other.markers > self._markers[node] for other in self._into[node]):
                self._markers[node] += 1
                self._mark(node, element)
            return
        key, value = element
        if self._period is not None and node not in self._follows:
            self._take_own_markers(node, value.ts, self._period)
        run = self._runs[node]
        (self._out[node][0] if run is None else run.item)(key, value)

    def _mark(self, node: int, m: Marker) -> None:
        run = self._runs[node]
        if run is not None:
            run.marker(m)
        if self._period is None or self._nodes[node].wires:
            self._out[node][1](m)

    def _take_own_markers(self, node: int, ts: int, period: int) -> None:
        due = self._due[node]
        if due is None:
            due = (ts // period + 1) * period
        while due <= ts:
            self._mark(node, Marker(due))
            due += period
        self._due[node] = due


def _splitter(route: Route, channels: list[_Channel]) -> Take:
    n = len(channels)
    if route is Route.HASH:
        return lambda key, value: channels[place(key, n)].waiting.append((key, value))
    if route is Route.ROUND_ROBIN:
        turns = count()
        return lambda key, value: channels[next(turns) % n].waiting.append((key, value))
    assert n == 1, "one channel leads to the instance of the same number, or to the only one"
    return lambda key, value: channels[0].waiting.append((key, value))


def _is_marker(element: Element) -> bool:
    return isinstance(element, Marker)
