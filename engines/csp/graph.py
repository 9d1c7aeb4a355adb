"""Builds, runs and reads the csp graph of a query."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import csp
import numpy as np
import numpy.typing as npt

from streamlab.engines.csp.clock import Clock, IntArray
from streamlab.workloads.model import Input, Stream

START = datetime(1970, 1, 1)
"""The beginning of csp's clock; csp's times have no zone."""

Part = Mapping[str, object]
"""A part of an answer: an edge or a constant integer for each column. All edges of a part tick together."""


class Events:
    """The events of an input as edges of a graph."""

    def __init__(self, data: Input) -> None:
        """Place the events on csp's clock."""
        self.clock = Clock.from_times([stream.ts for stream in data.streams])
        self._streams = data.streams
        self._kinds = len(data.alphabet.kinds)

    def keys(self, kind: int) -> Any:
        """Return the edge that ticks with the key of each event of a kind."""
        return self._edge(kind, None)

    def field(self, kind: int, name: str) -> Any:
        """Return the edge that ticks with a field of each event of a kind."""
        return self._edge(kind, name)

    def _edge(self, kind: int, field: str | None) -> Any:
        curves = [
            self._curve(stream, times, kind, field)
            for stream, times in zip(self._streams, self.clock.times, strict=True)
            if kind in stream.kinds
        ]
        return csp.flatten(curves) if curves else csp.null_ts(int)

    def _curve(self, stream: Stream, times: IntArray, kind: int, field: str | None) -> Any:
        tag = np.zeros(len(stream), np.int32) if stream.tag is None else stream.tag
        column: Any = tag // self._kinds if field is None else stream.payload[field]
        values = np.asarray(column, np.int64)
        if len(stream.kinds) > 1:
            rows = tag % self._kinds == kind
            times, values = times[rows], values[rows]
        return csp.curve(int, (times.view("datetime64[ns]"), values))


Query = Callable[[Events], Sequence[Part]]
"""Returns the parts of an answer, as edges."""


class Graph:
    """A query over events, ready to run once."""

    def __init__(self, query: Query, events: Events) -> None:
        """Build the graph; nothing runs yet."""
        self._clock = events.clock
        self._parts: list[Part] = []
        self._graph = csp.build_graph(self._edges, query, events)
        self._ticks: Mapping[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def _edges(self, query: Query, events: Events) -> dict[str, object]:
        self._parts += query(events)
        return {
            f"{name} {index}": value
            for index, part in enumerate(self._parts)
            for name, value in part.items()
            if not isinstance(value, int)
        }

    def run(self) -> None:
        """Run from the first event to the last."""
        end = timedelta(microseconds=self._clock.end_ns // 1000 + 1)
        self._ticks = csp.run(self._graph, starttime=START, endtime=end, output_numpy=True)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the outputs of all parts in the order of csp's times: the total order of their events."""
        parts = [self._columns(index, part) for index, part in enumerate(self._parts)]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        order = np.argsort(rows["ts"])
        columns = {name: values[order] for name, values in rows.items()}
        return {**columns, "ts": self._clock.event_ts(columns["ts"])}

    def _columns(self, index: int, part: Part) -> dict[str, npt.NDArray[Any]]:
        ticks = {name: self._ticks.get(f"{name} {index}") for name in part}
        times = next(series[0] for series in ticks.values() if series is not None)
        ts = times.astype("datetime64[ns]").view(np.int64)  # Without a tick the times are objects.
        columns = {
            name: np.full(len(ts), part[name]) if series is None else series[1].astype(np.int64)
            for name, series in ticks.items()
        }
        return {"ts": ts, **columns}


def graph_of(query: Query) -> Callable[[Input], Graph]:
    """Return the function that builds the graph of a query over the events of an input."""
    return lambda data: Graph(query, Events(data))
