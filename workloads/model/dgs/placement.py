"""Places keys of streams on workers.

With at least as many reading streams as workers, whole streams go to workers. LPT assigns the largest
stream first, to the least loaded worker, and reaches at most 4/3 - 1/(3 workers) of the best possible
load (Graham 1969). With fewer streams, each stream gets workers in proportion to its events, and LPT
spreads a keyed program's keys over these workers.
"""

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.model.streams.stream import IntArray

Placement = npt.NDArray[np.int32]
"""int32[keys, streams]: the worker of each key in each stream; -1 if no leaf reads the stream."""

MAX_SHAPES = 256
"""If spreading the keys of each stream separately gives more distinct rows (tree shapes) than this, streams
with equally many workers spread their keys in the same way."""


def lpt(loads: Sequence[int] | IntArray, bins: int) -> npt.NDArray[np.int32]:
    """Return a bin for each load: the largest load first, to the least loaded bin; ties by index."""
    sizes = np.asarray(loads, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    heap = [(0, 0, bin_index) for bin_index in range(bins)]
    bin_of = np.zeros(len(sizes), dtype=np.int32)
    for index, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        load, items, target = heap[0]
        bin_of[index] = target
        # The number of items breaks ties, which spreads loads of 0 too.
        heapq.heapreplace(heap, (load + size, items + 1, target))
    return bin_of


def lpt_together(loads: IntArray, bins: int, together: IntArray) -> npt.NDArray[np.int32]:
    """Return bins as `lpt` does; loads with the same number in `together` share a bin."""
    total = np.zeros(int(together.max()) + 1, dtype=np.int64)
    np.add.at(total, together, loads)
    return lpt(total, bins)[together]


def place(
    streams: Sequence[StreamProfile],
    reading: Sequence[int],
    keys: int,
    workers: int,
    *,
    together: IntArray | None = None,
) -> Placement:
    """Return the worker of every key in every stream of `reading`, which determine leaves.

    `together` is int64[keys], numbered from 0. Keys with the same number stay on one worker. None means
    that all keys are separate.
    """
    together = np.arange(keys) if together is None else together
    placement = np.full((keys, len(streams)), -1, dtype=np.int32)
    if not reading:
        return placement
    events = [streams[index].events for index in reading]
    if len(reading) >= workers:
        placement[:, list(reading)] = lpt(events, workers)[None, :]
        return _follow(placement, streams, reading, fallback=placement)
    shares = _shares(events, workers, most=keys)
    first = np.concatenate(([0], np.cumsum(shares)[:-1])).astype(np.int32)
    placement[:, list(reading)] = first[None, :]
    shared = placement.copy()
    for index, share, base in zip(reading, shares, first.tolist(), strict=True):
        placement[:, index] = base + lpt_together(streams[index].key_events, share, together)
        same_size = [other for other, size in zip(reading, shares, strict=True) if size == share]
        total = np.sum([streams[other].key_events for other in same_size], axis=0)
        shared[:, index] = base + lpt_together(total, share, together)
    return _follow(placement, streams, reading, fallback=shared)


def _shares(events: Sequence[int], workers: int, most: int) -> list[int]:
    """Return the number of workers of each stream, at most `most`.

    Each stream gets one worker; the others go, one by one, to the stream with most events per worker.
    """
    shares = [1] * len(events)
    for _ in range(workers - len(events)):
        eligible = [i for i in range(len(events)) if shares[i] < most]
        if not eligible:
            break
        shares[max(eligible, key=lambda i: (events[i] / shares[i], -i))] += 1
    return shares


def _follow(
    placement: Placement,
    streams: Sequence[StreamProfile],
    reading: Sequence[int],
    fallback: Placement,
) -> Placement:
    """In streams that have no events of a key, place that key on the worker of its heaviest stream.

    This costs nothing and saves a leaf. Return `fallback` if the result has more than MAX_SHAPES shapes.
    """
    if not len(reading):
        return placement
    counts = np.stack([streams[index].key_events for index in reading], axis=1)
    columns = list(reading)
    old_places = placement[:, columns]
    heaviest = old_places[np.arange(len(old_places)), np.argmax(counts, axis=1)]
    new_places = np.where(counts == 0, heaviest[:, None], old_places)
    present = counts.any(axis=1)
    if present.any():
        # Keys without events follow the first key with events.
        new_places[~present] = new_places[int(np.argmax(present))]
    else:
        new_places = old_places
    result = placement.copy()
    result[:, columns] = new_places
    if len(np.unique(result, axis=0)) > MAX_SHAPES:
        return fallback
    return result
