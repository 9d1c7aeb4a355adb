"""Finds the cuts of an input at which snapshots are possible, and the stream positions at a cut.

A cut lies just before an event of a kind that depends on itself or concerns many keys; plans put such kinds at roots.
It divides the total order of all events, so the input alone determines the position of every stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import DGSProgram, Input, Stream

MOST_CUTS = 1 << 16
"""Maximum number of cuts of a run. At 2 ms per checkpoint they suffice for two minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Cuts in the order of events, as parallel arrays.

    Attributes:
        ts: time of the event after each cut.
        stream: stream of that event.
        position: position of that event in its stream.
    """

    ts: npt.NDArray[np.int64]
    stream: npt.NDArray[np.int32]
    position: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ts)

    def key(self, cut: int) -> tuple[int, int, int]:
        """Return time, stream and position of the event after a cut."""
        return int(self.ts[cut]), int(self.stream[cut]), int(self.position[cut])

    def select(self, mask: npt.NDArray[np.bool_]) -> "Cuts":
        """Return the cuts that a mask selects."""
        return Cuts(ts=self.ts[mask], stream=self.stream[mask], position=self.position[mask])

    def after(self, positions: Sequence[int]) -> "Cuts":
        """Return the cuts after the given stream positions, with positions counted from there."""
        offset = np.asarray(positions, dtype=np.int64)[self.stream]
        later = self.select(self.position > offset)
        return replace(later, position=later.position - offset[self.position > offset])


def find_cuts(program: DGSProgram, data: Input, every: int, most: int | None = None) -> Cuts:
    """Return the cuts of an input: before every n-th event of the synchronizing kinds.

    There are at most `most` cuts, spread evenly; None means `MOST_CUTS`.
    """
    most = MOST_CUTS if most is None else most
    kinds = sorted(synchronizing_kinds(program))
    events = [
        _events_of(stream, index, kinds, len(program.kinds))
        for index, stream in enumerate(data.streams)
    ]
    ts, stream, position = (np.concatenate(column) for column in zip(*events, strict=True))
    order = np.lexsort((position, stream, ts))[every - 1 :: every]
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).astype(np.int64)]
    return Cuts(ts=ts[order], stream=stream[order], position=position[order])


def synchronizing_kinds(program: DGSProgram) -> frozenset[int]:
    """Return the kinds whose events have cuts before them; all kinds if none depends on itself."""
    self_dependent = {a for a, b in program.dependent_kinds() if a == b}
    across = frozenset(range(len(program.kinds))) - program.key_kinds()
    return frozenset(self_dependent | across) or program.key_kinds()


def positions_at(data: Input, ts: int, stream: int, position: int) -> tuple[int, ...]:
    """Return the number of events of each stream that precede an event in the total order."""
    return tuple(
        position
        if index == stream
        else int(np.searchsorted(other.ts, ts, side="right" if index < stream else "left"))
        for index, other in enumerate(data.streams)
    )


def drop_before(data: Input, positions: Sequence[int]) -> Input:
    """Return views of the input without the events before the given stream positions."""
    streams = tuple(
        replace(
            stream,
            ts=stream.ts[at:],
            tag=None if stream.tag is None else stream.tag[at:],
            payload={name: column[at:] for name, column in stream.payload.items()},
        )
        for stream, at in zip(data.streams, positions, strict=True)
    )
    return replace(data, streams=streams)


def _events_of(
    stream: Stream, index: int, kinds: Sequence[int], n_kinds: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    if stream.tag is None:
        position = np.arange(len(stream) if stream.kinds[0] in kinds else 0, dtype=np.int64)
    else:
        position = np.flatnonzero(np.isin(stream.tag % n_kinds, kinds)).astype(np.int64)
    return stream.ts[position], np.full(len(position), index, dtype=np.int32), position
