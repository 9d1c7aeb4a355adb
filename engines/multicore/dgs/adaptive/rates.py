"""The rates at which tags occur, measured in what a run has processed lately."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.stream_profile import StreamProfile

MOST_SAMPLED = 1 << 15
"""Tags of a stream that are looked at: a share of 1 % is known to within a twentieth of itself, and
to count them takes some 0.1 ms, where counting all would take as long as the workers do."""
CHANCE = 5.0
"""Standard deviations of a sampled count by which it differs by chance."""


def measured_rates(
    data: Input, begins: Sequence[int], ends: Sequence[int], whole: Sequence[StreamProfile]
) -> tuple[StreamProfile, ...]:
    """Return how many events of each tag lie between two positions of every stream.

    Of long parts every n-th event is looked at and counts for n: an input that repeats itself with
    that period is misjudged. A tag of the whole input counts at least once, as a plan that leaves
    it out would lose its events.

    Args:
        data: the run's input.
        begins: by stream, a position.
        ends: by stream, one further on.
        whole: which tags occur.
    """
    found = []
    for stream, begin, end, occurring in zip(data.streams, begins, ends, whole, strict=True):
        cells = occurring.counts.reshape(-1)
        if stream.tag is None:
            counts: npt.NDArray[np.int64] = np.zeros(len(cells), dtype=np.int64)
            counts[stream.kinds[0]] = end - begin
        else:
            step = _step(end - begin)
            part = stream.tag[begin:end:step]
            counts = np.bincount(part, minlength=len(cells)).astype(np.int64) * step
        seen = np.maximum(counts, cells > 0).reshape(occurring.counts.shape)
        found.append(replace(occurring, counts=seen))
    return tuple(found)


def alike(then: Sequence[StreamProfile], now: Sequence[StreamProfile], within: float) -> bool:
    """Return whether no tag's share of all events differs by more than `within` of it, or chance.

    Each tag by itself, be it as rare and as costly as it may. Of tags that are seldom seen chance
    hides much: 25 events and 70 are alike.

    Args:
        then: of a period with events.
        now: of another one, of the same input.
        within: e.g. 0.05.
    """
    longer = sum(one.events for one in now) / sum(one.events for one in then)
    for old, new in zip(then, now, strict=True):
        before, after = old.counts * longer, new.counts.astype(np.float64)
        most = np.maximum(before, after)
        # For so many counts an event of the sample that says less.
        weight = max(longer * _step(old.events), _step(new.events))
        if (np.abs(before - after) > within * most + CHANCE * np.sqrt(most * weight)).any():
            return False
    return True


def _step(events: int) -> int:
    """Return how far apart events of a sample lie."""
    return max(1, -(-events // MOST_SAMPLED))
