"""Stream profiles: how many events of each tag a stream holds. What the optimizer knows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.streams.stream import Input, IntArray, Stream
from streamlab.workloads.model.streams.tag import Alphabet
from streamlab.workloads.model.workload import StreamSpec

_CHUNK = 1 << 22
"""Tags counted at a time: bincount widens them to 8 bytes, and this bounds the copy to 32 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProfile:
    """What is known of one stream before it runs.

    Attributes:
        name: the stream's name.
        kinds: the kinds that may occur in it, ascending.
        counts: int64[keys, n_kinds], events of each tag; zero outside `kinds`. Only the proportions
            matter, so an estimate will do: a plan is valid whatever the counts are.
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
    """Return what is known of streams without their events across keys: what trees are made for."""
    if not program.across:
        return tuple(streams)
    own = program.key_kinds()
    across = sorted(set(range(len(program.kinds))) - own)
    found = []
    for stream in streams:
        counts = stream.counts.copy()
        counts[:, across] = 0
        kinds = tuple(kind for kind in stream.kinds if kind in own)
        found.append(replace(stream, kinds=kinds, counts=counts))
    return tuple(found)


def profile(data: Input) -> tuple[StreamProfile, ...]:
    """Count the tags of all streams of an input, exactly."""
    return tuple(
        StreamProfile(name=stream.name, kinds=stream.kinds, counts=_count(stream, data.alphabet))
        for stream in data.streams
    )


def profile_of_specs(
    specs: tuple[StreamSpec, ...], alphabet: Alphabet
) -> tuple[StreamProfile, ...]:
    """Estimate profiles from stream specifications: events spread evenly over kinds and keys."""
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
