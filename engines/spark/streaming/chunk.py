"""Buffers the events of each stream, and takes the prefix of the total order that is complete in all streams.

Each stream arrives in order, so its last event time promises that no earlier event follows. The smallest promise of all
streams limits the complete prefix of the total order (event time, stream, position); the rest waits in state. No event
is late, so none is dropped.
Under an offered load a micro-batch may take several files of a stream, which Spark reads in any order. Beats are then
the promises (`load_files.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.spark.files import END
from streamlab.engines.spark.layout import BULK

Run = dict[str, npt.NDArray[Any]]
"""Events of one stream in order: `ts`, optionally `tag` and `pos`, and payload columns."""

BEGIN = np.iinfo(np.int64).min


@dataclass(slots=True)
class Pending:
    """Events that wait for other streams, and the progress of each stream.

    Attributes:
        runs: per stream, runs in order of arrival.
        frontier: per stream, the last event time that has arrived or was promised.
        released: per stream, the number of events already released.
        beats: per stream, promises (event time, rows until then) whose events have not all arrived.
    """

    runs: dict[int, list[Run]] = field(default_factory=dict)
    frontier: dict[int, int] = field(default_factory=dict)
    released: dict[int, int] = field(default_factory=dict)
    beats: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, src: int, runs: list[Run], *, promised: bool = False) -> None:
        """Add the runs of one stream in one micro-batch, in any order.

        With `promised`, only beats are promises, and a run may be unsorted. Otherwise the last event is a promise.
        """
        order = "pos" if "pos" in runs[0] else "ts"
        runs = [*self.runs.get(src, []), *runs]
        runs.sort(key=lambda run: (int(run[order][0]), int(run[order][-1])))
        if not promised:
            self.frontier[src] = max(self.frontier.get(src, BEGIN), int(runs[-1]["ts"][-1]))
        # Bulk events of equal time may change places, because they are independent.
        elif not _ascending([run[order] for run in runs]):
            merged = _concatenate(runs)
            place = np.argsort(merged[order], kind="stable")
            runs = [{name: column[place] for name, column in merged.items()}]
        self.runs[src] = runs

    def promise(self, src: int, ts: int, rows: int) -> None:
        """Record the promise that no event before `ts` follows the stream's first `rows` events."""
        self.beats.setdefault(src, []).append((ts, rows))

    def settle(self) -> None:
        """Advance the frontiers by the promises whose events have all arrived."""
        for src, beats in self.beats.items():
            beats.sort()
            while beats and self._rows_until(src, beats[0][0]) >= beats[0][1]:
                self.frontier[src] = beats.pop(0)[0]

    def _rows_until(self, src: int, ts: int) -> int:
        waiting = (np.searchsorted(run["ts"], ts, "right") for run in self.runs.get(src, []))
        return self.released.get(src, 0) + int(sum(waiting))

    def take(self, sources: tuple[int, ...]) -> dict[int, Run]:
        """Remove and return the complete prefix of some streams, as one run per stream."""
        limit, tie = min((self.frontier.get(src, BEGIN), src) for src in sources)
        if limit == BEGIN:
            return {}
        prefix: dict[int, Run] = {}
        for src in sources:
            side = "right" if src <= tie and limit != END else "left"
            complete_runs, waiting_runs = _cut(self.runs.pop(src, []), limit, side)
            if waiting_runs:
                self.runs[src] = waiting_runs
            if complete_runs:
                prefix[src] = _concatenate(complete_runs)
                self.released[src] = self.released.get(src, 0) + len(prefix[src]["ts"])
        return prefix


def _ascending(columns: list[npt.NDArray[Any]]) -> bool:
    ends = all(a[-1] <= b[0] for a, b in pairwise(columns))
    return ends and all(bool((column[1:] >= column[:-1]).all()) for column in columns)


def _concatenate(runs: list[Run]) -> Run:
    if len(runs) == 1:
        return runs[0]
    return {name: np.concatenate([run[name] for run in runs]) for name in runs[0]}


def _cut(runs: list[Run], limit: int, side: Any) -> tuple[list[Run], list[Run]]:
    """Split runs at event time `limit` into complete and waiting runs; events at `limit` wait if `side` is `left`."""
    complete_runs: list[Run] = []
    waiting_runs: list[Run] = []
    for run in runs:
        end = int(np.searchsorted(run["ts"], limit, side=side))
        if end:
            complete_runs.append({name: column[:end] for name, column in run.items()})
        if end < len(run["ts"]):
            # Copy the few waiting events, because a view would keep the whole run in memory.
            waiting_runs.append({name: column[end:].copy() for name, column in run.items()})
    return complete_runs, waiting_runs


def _keys(run: Run, n_kinds: int) -> npt.NDArray[Any]:
    """Return the key of each event; 0 in a stream without tags."""
    return (
        run["tag"].astype(np.int64) // n_kinds
        if "tag" in run
        else np.zeros(len(run["ts"]), dtype=np.int64)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """A complete prefix, split into separators and bulk events.

    Attributes:
        separators: columns of all separators in total order, with `key` and `src`.
        bulk: per stream, columns of its bulk events with `key`.
        before: per stream, the number of separators before each bulk event.
    """

    separators: Run
    bulk: Mapping[int, Run]
    before: Mapping[int, npt.NDArray[np.int64]]


def separate(
    prefix: dict[int, Run], kinds: tuple[tuple[int, ...], ...], n_kinds: int, payload: str
) -> Prefix:
    """Split a complete prefix into separators, in total order, and bulk events with positions among the separators.

    `kinds` has the only kind of each stream. `payload` is the payload column of separators, or `ts` without payload.
    """
    parts: list[tuple[Any, ...]] = []
    bulk: dict[int, Run] = {}
    for src, run in prefix.items():
        key = _keys(run, n_kinds)
        if kinds[src] == BULK:
            bulk[src] = run | {"key": key}
        else:
            rows = np.arange(len(key))
            parts.append((run["ts"], np.full_like(rows, src), rows, key, run[payload]))
    if not parts:
        parts.append((np.zeros(0, dtype=np.int64),) * 5)
    ts, source, row, key, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((row, source, ts))
    separators = {"ts": ts, "src": source, "row": row, "key": key, "value": value}
    separators = {name: column[order] for name, column in separators.items()}
    before = {src: _windows_of(src, run, separators) for src, run in bulk.items()}
    return Prefix(separators=separators, bulk=bulk, before=before)


def _windows_of(src: int, run: Run, separators: Run) -> npt.NDArray[np.int64]:
    """Return the number of separators before each event of a run."""
    after_ties = np.searchsorted(run["ts"], separators["ts"], side="right")
    before_ties = np.searchsorted(run["ts"], separators["ts"], side="left")
    cut = np.where(separators["src"] > src, after_ties, before_ties)
    # Cuts ascend with the separators, so the runs between them are the windows.
    sizes = np.diff(np.concatenate([[0], cut, [len(run["ts"])]]))
    return np.repeat(np.arange(len(cut) + 1), sizes)
