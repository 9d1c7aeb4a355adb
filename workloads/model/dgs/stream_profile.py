"""Counts or estimates the events of each tag in a stream, for plans and their costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.streams.stream import Input, IntArray, Stream
from streamlab.workloads.model.streams.tag import Alphabet
from streamlab.workloads.model.workload import StreamSpec

_CHUNK = 1 << 22
"""Tags counted per step: bincount widens them to 8 bytes, so this limits the copy to 32 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProfile:
    """Holds the number of events of each tag in one stream.

    Attributes:
        kinds: The kinds that may occur in it, ascending.
        counts: int64[keys, n_kinds], events of each tag; zero outside `kinds`. Only the proportions
            matter, so estimates suffice: a plan is valid for any counts.
    """

    name: str
    kinds: tuple[int, ...]
    counts: npt.NDArray[np.int64]

    @property
    def events(self) -> int:
        """Number of events in the stream."""
        return int(self.counts.sum())

    @property
    def key_events(self) -> IntArray:
        """Number of events of each key, int64[keys]."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def kind_events(self) -> IntArray:
        """Number of events of each kind, int64[n_kinds]."""
        return np.asarray(self.counts.sum(axis=0))


def within_keys(program: DGSProgram, streams: Sequence[StreamProfile]) -> tuple[StreamProfile, ...]:
    """Return the profiles without events across keys; trees process only the remaining kinds."""
    if not program.across:
        return tuple(streams)
    key_kinds = program.key_kinds()
    across = sorted(set(range(len(program.kinds))) - key_kinds)
    profiles = []
    for stream in streams:
        counts = stream.counts.copy()
        counts[:, across] = 0
        kinds = tuple(kind for kind in stream.kinds if kind in key_kinds)
        profiles.append(replace(stream, kinds=kinds, counts=counts))
    return tuple(profiles)


def profile(data: Input) -> tuple[StreamProfile, ...]:
    """Return the exact profiles of all streams of an input."""
    return tuple(
        StreamProfile(name=stream.name, kinds=stream.kinds, counts=_count(stream, data.alphabet))
        for stream in data.streams
    )


def profile_of_specs(
    specs: tuple[StreamSpec, ...], alphabet: Alphabet
) -> tuple[StreamProfile, ...]:
    """Return estimated profiles, with events spread evenly over kinds and keys."""
    profiles = []
    for spec in specs:
        kinds = tuple(sorted(alphabet.kinds.index(kind) for kind in spec.kinds))
        counts = np.zeros((alphabet.keys, len(alphabet.kinds)), dtype=np.int64)
        share, rest = divmod(spec.events, len(kinds) * alphabet.keys)
        cells = np.full(len(kinds) * alphabet.keys, share, dtype=np.int64)
        cells[:rest] += 1
        counts[:, list(kinds)] = cells.reshape(alphabet.keys, len(kinds))
        profiles.append(StreamProfile(name=spec.name, kinds=kinds, counts=counts))
    return tuple(profiles)


def _count(stream: Stream, alphabet: Alphabet) -> npt.NDArray[np.int64]:
    cells = np.zeros(alphabet.keys * len(alphabet.kinds), dtype=np.int64)
    if stream.tag is None:
        cells[stream.kinds[0]] = len(stream)
    else:
        for begin in range(0, len(stream), _CHUNK):
            chunk = stream.tag[begin : begin + _CHUNK]
            cells += np.bincount(chunk, minlength=len(cells))
    return cells.reshape(alphabet.keys, len(alphabet.kinds))
