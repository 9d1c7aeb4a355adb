"""Interprets networks of instances under any interleaving of their channels.

A node merges its inputs (MRG), runs its vertex, and splits its output (RR, HASH). This is the fused
form `MRG; op; HASH` of a deployed graph (Data-Trace Types, Corollary 4.4). Channels are first in,
first out. A node takes from any channel with elements, in the order that the caller chooses. It takes
nothing behind a marker until that marker has arrived on all its channels: markers align channels.
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
"""`choose(n)` returns a number in [0, n): the channel to serve next."""


class Route(Enum):
    """Selects which instance of the reader gets each output pair; markers go to all instances."""

    FORWARD = "forward"
    """To the instance of the same number."""
    ROUND_ROBIN = "round robin"
    """To each instance in turn: RR of the paper."""
    HASH = "hash"
    """To the instance that owns the key: HASH of the paper."""
    MERGED = "merged"
    """To the only instance: MRG of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Describes a splitter: channels to the instances of one reader.

    Attributes:
        route: Selects the channel of each pair.
        to: The nodes that run the instances of the reader.
    """

    route: Route
    to: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Describes a node of a network.

    Attributes:
        begin: Starts the node's run; its argument takes the output. None if the node forwards items.
        wires: Each wire gets the whole output. If empty, the output leaves the network.
    """

    name: str
    begin: Callable[[Take], VertexRun] | None = None
    wires: tuple[Wire, ...] = ()


def instance_of_key(key: int, instances: int) -> int:
    """Return the index of the instance that owns a key."""
    return hash_key(key) % instances


def run(
    nodes: Sequence[Node],
    feeds: Mapping[int, Sequence[Element]],
    choose: Choose,
    *,
    period: int | None = None,
) -> dict[int, list[Element]]:
    """Return the output of each node without wires.

    Args:
        nodes: The network, without cycles.
        feeds: The elements that enter the network, by node.
        choose: Selects the channel to serve next.
        period: None if the markers of the feeds flow with the items. Otherwise the network runs as an
            untyped system would (section 2 of the paper), which is unsound. The markers of the feeds
            are dropped, and markers pass between nodes by FORWARD only. A node without a FORWARD input
            makes its own marker when an item has reached the next multiple of the period.
    """
    network = _Network(nodes, feeds, period)
    while ready := network.ready():
        network.serve(ready[choose(len(ready))])
    return network.outputs


@dataclass(slots=True)
class _Channel:
    """Holds the elements that wait for node `to`; `markers` counts the markers that the node took from here."""

    to: int
    waiting: deque[Element]
    markers: int = 0


class _Network:
    """Runs the nodes, and holds the channels between them; see `run` for `period`."""

    def __init__(
        self, nodes: Sequence[Node], feeds: Mapping[int, Sequence[Element]], period: int | None
    ) -> None:
        self._nodes = nodes
        self._period = period
        self._marker_times: list[int | None] = [None] * len(nodes)
        forwarded = (w.to for node in nodes for w in node.wires if w.route is Route.FORWARD)
        self._follows = {to for (to,) in forwarded}
        self._markers = [0] * len(nodes)
        self._inputs: list[list[_Channel]] = [[] for _ in nodes]
        self.outputs: dict[int, list[Element]] = {}
        for node, elements in feeds.items():
            sent = [e for e in elements if period is None or not isinstance(e, Marker)]
            self._inputs[node].append(_Channel(node, deque(sent)))
        self._out = [self._wire(index, node) for index, node in enumerate(nodes)]
        self._channels = [channel for channels in self._inputs for channel in channels]
        self._runs = [
            None if node.begin is None else node.begin(self._out[index][0])
            for index, node in enumerate(nodes)
        ]

    def _wire(self, index: int, node: Node) -> tuple[Take, Callable[[Marker], None]]:
        """Make a node's output channels; return functions that send items and markers into them."""
        if not node.wires:
            output = self.outputs.setdefault(index, [])
            return lambda key, value: output.append((key, value)), output.append
        sends: list[Take] = []
        marked: list[_Channel] = []
        for wire in node.wires:
            channels = [_Channel(to, deque()) for to in wire.to]
            for channel in channels:
                self._inputs[channel.to].append(channel)
            if self._period is None or wire.route is Route.FORWARD:
                marked += channels
            sends.append(_splitter(wire.route, channels))

        def item(key: int, value: object) -> None:
            for send in sends:
                send(key, value)

        def marker(m: Marker) -> None:
            for channel in marked:
                channel.waiting.append(m)

        return item, marker

    def ready(self) -> list[_Channel]:
        """Return the channels with elements that have passed no more markers than their reader."""
        return [c for c in self._channels if c.waiting and c.markers == self._markers[c.to]]

    def serve(self, channel: _Channel) -> None:
        """Pass the next element of a channel to its reader."""
        element, node = channel.waiting.popleft(), channel.to
        if isinstance(element, Marker):
            channel.markers += 1
            if all(other.markers > self._markers[node] for other in self._inputs[node]):
                self._markers[node] += 1
                self._mark(node, element)
            return
        key, value = element
        if self._period is not None and node not in self._follows:
            marker_ts = self._marker_times[node]
            if marker_ts is None:
                marker_ts = (value.ts // self._period + 1) * self._period
            while marker_ts <= value.ts:
                self._mark(node, Marker(marker_ts))
                marker_ts += self._period
            self._marker_times[node] = marker_ts
        run = self._runs[node]
        (self._out[node][0] if run is None else run.item)(key, value)

    def _mark(self, node: int, m: Marker) -> None:
        """Process a marker in a node, then send it on."""
        run = self._runs[node]
        if run is not None:
            run.marker(m)
        if self._period is None or self._nodes[node].wires:
            self._out[node][1](m)


def _splitter(route: Route, channels: list[_Channel]) -> Take:
    """Return a function that appends an item to the channel that the route selects."""
    n = len(channels)
    if route is Route.HASH:
        return lambda key, value: channels[instance_of_key(key, n)].waiting.append((key, value))
    if route is Route.ROUND_ROBIN:
        turns = count()
        return lambda key, value: channels[next(turns) % n].waiting.append((key, value))
    assert n == 1, "FORWARD and MERGED have one channel"
    return lambda key, value: channels[0].waiting.append((key, value))
