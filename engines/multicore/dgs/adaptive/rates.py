"""Measures the rates of tags in the input that a run has recently processed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.stream_profile import StreamProfile

MAX_SAMPLED = 1 << 15
"""Maximum number of sampled events of a stream. A share of 1 % is then accurate to a twentieth of itself.
Counting the sample takes about 0.1 ms; counting all events would take as long as processing them."""
CHANCE = 5.0
"""Differences of a sampled count up to this many standard deviations count as chance."""


def measure_rates(
    data: Input, begins: Sequence[int], ends: Sequence[int], input_profile: Sequence[StreamProfile]
) -> tuple[StreamProfile, ...]:
    """Return each tag's number of events between two positions of every stream.

    In long parts, only every n-th event is counted, and counts n times. So the rates are wrong if an input repeats with
    period n.
    Each tag of the complete input (`input_profile`) counts at least once, because a plan without the tag would lose its
    events.
    """
    profiles = []
    for stream, begin, end, tag_profile in zip(
        data.streams, begins, ends, input_profile, strict=True
    ):
        cells = tag_profile.counts.reshape(-1)
        if stream.tag is None:
            counts: npt.NDArray[np.int64] = np.zeros(len(cells), dtype=np.int64)
            counts[stream.kinds[0]] = end - begin
        else:
            step = _step(end - begin)
            part = stream.tag[begin:end:step]
            counts = np.bincount(part, minlength=len(cells)).astype(np.int64) * step
        at_least_once = np.maximum(counts, cells > 0).reshape(tag_profile.counts.shape)
        profiles.append(replace(tag_profile, counts=at_least_once))
    return tuple(profiles)


def are_similar(
    earlier: Sequence[StreamProfile], later: Sequence[StreamProfile], tolerance: float
) -> bool:
    """Return whether each tag's share of all events differs by at most `tolerance`, or by chance.

    Rare tags differ much by chance: 25 and 70 events count as similar. `earlier` must have events.
    """
    ratio = sum(profile.events for profile in later) / sum(profile.events for profile in earlier)
    for earlier_profile, later_profile in zip(earlier, later, strict=True):
        earlier_counts = earlier_profile.counts * ratio
        later_counts = later_profile.counts.astype(np.float64)
        larger_counts = np.maximum(earlier_counts, later_counts)
        # Events per sampled event, in the coarser of the two samples.
        weight = max(ratio * _step(earlier_profile.events), _step(later_profile.events))
        if (
            np.abs(earlier_counts - later_counts)
            > tolerance * larger_counts + CHANCE * np.sqrt(larger_counts * weight)
        ).any():
            return False
    return True


def _step(events: int) -> int:
    """Return the distance between sampled events."""
    return max(1, -(-events // MAX_SAMPLED))
