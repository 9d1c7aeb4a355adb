"""Finds the cuts of an input at which snapshots are possible, and the stream positions at a cut.

A cut lies just before an event of a kind that depends on itself or reads many keys; plans put such kinds at roots.
It divides the total order of all events, so the input alone determines the position of every stream.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import DGSProgram, Input, Stream

MAX_CUTS = 1 << 16
"""Maximum number of cuts of a run. With 2 ms per checkpoint they suffice for two minutes."""


CUT = np.dtype([("ts", np.int64), ("stream", np.int32), ("position", np.int64)])
"""A cut, given by the first event after it: the event's time, its stream, and its position in the stream."""
Cuts = npt.NDArray[np.void]
"""Cuts in the order of events, as records of `CUT`."""


def columns_of(
    cuts: Cuts,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the times, streams and positions of cuts as contiguous arrays."""
    ts, stream, position = (np.ascontiguousarray(cuts[name]) for name in CUT.names or ())
    return ts, stream, position


def cuts_after(cuts: Cuts, positions: Sequence[int]) -> Cuts:
    """Return the cuts after the given stream positions; the positions of the returned cuts count from there."""
    offset = np.asarray(positions, dtype=np.int64)[cuts["stream"]]
    later = cuts["position"] > offset
    rest: Cuts = cuts[later]
    rest["position"] -= offset[later]
    return rest


def find_cuts(program: DGSProgram, data: Input, every: int, max_cuts: int | None = None) -> Cuts:
    """Return the cuts of an input, before every `every`-th event of the synchronizing kinds.

    Returns at most `max_cuts` cuts, spread evenly; None means `MAX_CUTS`.
    """
    max_cuts = MAX_CUTS if max_cuts is None else max_cuts
    kinds = sorted(synchronizing_kinds(program))
    cuts = np.concatenate(
        [
            _cuts_of(stream, index, kinds, len(program.kinds))
            for index, stream in enumerate(data.streams)
        ]
    )
    order = np.lexsort((cuts["position"], cuts["stream"], cuts["ts"]))[every - 1 :: every]
    if len(order) > max_cuts:
        order = order[np.linspace(0, len(order) - 1, max_cuts).astype(np.int64)]
    return cuts[order]


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
            ts=stream.ts[begin:],
            tag=None if stream.tag is None else stream.tag[begin:],
            payload={name: column[begin:] for name, column in stream.payload.items()},
        )
        for stream, begin in zip(data.streams, positions, strict=True)
    )
    return replace(data, streams=streams)


def _cuts_of(stream: Stream, index: int, kinds: Sequence[int], n_kinds: int) -> Cuts:
    if stream.tag is None:
        position = np.arange(len(stream) if stream.kinds[0] in kinds else 0, dtype=np.int64)
    else:
        position = np.flatnonzero(np.isin(stream.tag % n_kinds, kinds))
    cuts = np.empty(len(position), dtype=CUT)
    cuts["ts"], cuts["stream"], cuts["position"] = stream.ts[position], index, position
    return cuts
