"""Changes of small inputs: length, ties, bursts, silence, edges of time, heartbeats."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from streamlab.engines.conformance import first_rows
from streamlab.workloads.model import Input, ListColumn, Stream

IntArray = npt.NDArray[np.int64]

MAX_EVENTS = 1_200
"""Of an input that is repeated: what the interpreter needs some hundredths of a second for."""
COPIES = (1, 1, 1, 5, 40, 400)
INSTANTS = (2, 5, 1000)
STRETCH = (3, 1000)


@st.composite
def shaped(
    draw: st.DrawFn,
    small: st.SearchStrategy[Input],
    lowest: int,
    highest: int,
    longest: int = 1 << 62,
) -> Input:
    """Draw a small input and change it, with event times between `lowest` and `highest`.

    A change after which the input would last longer than `longest` is not made.
    """
    data = draw(small)
    after = 0
    if data.until_ts is not None:
        after = data.until_ts - 1 - max((int(s.ts[-1]) for s in data.streams if len(s)), default=0)
    for shape in (_repeated, *draw(st.lists(st.sampled_from(SHAPES), max_size=3, unique=True))):
        changed = draw(shape(data))
        first, last = _span(changed)
        if last - first <= longest:
            data = changed
    data = _shifted(data, draw(st.sampled_from(["", "", "", "lowest", "highest"])), lowest, highest)
    if draw(st.booleans()):
        data = draw(_with_heartbeats(data))
    if data.until_ts is not None:
        end = max((int(s.ts[-1]) for s in data.streams if len(s)), default=0)
        data = replace(data, until_ts=end + 1 + after)
    return data


def _repeated(data: Input) -> st.SearchStrategy[Input]:
    """The same again and again, with or without time between: long enough for all to be at work."""
    events, (first, last) = data.events, _span(data)

    def build(copies: int, gap: int) -> Input:
        copies = min(copies, MAX_EVENTS // max(1, events))
        if copies < 2 or events == 0:
            return data
        starts = np.arange(copies, dtype=np.int64) * (last - first + gap)

        def again(stream: Stream) -> Stream:
            rows = np.tile(np.arange(len(stream)), copies)
            return replace(
                stream,
                ts=(starts[:, None] + stream.ts[None, :]).ravel(),
                tag=None if stream.tag is None else stream.tag[rows],
                payload={
                    name: column.take(rows) if isinstance(column, ListColumn) else column[rows]
                    for name, column in stream.payload.items()
                },
            )

        return replace(data, streams=tuple(again(stream) for stream in data.streams))

    return st.builds(build, st.sampled_from(COPIES), st.sampled_from([1, 0, 7, 1000]))


def _tied(data: Input) -> st.SearchStrategy[Input]:
    """Only some instants of time."""
    return st.sampled_from(INSTANTS).map(lambda step: _timed(data, lambda ts: ts // step * step))


def _stretched(data: Input) -> st.SearchStrategy[Input]:
    """Time passes between all events that are no ties."""
    return st.sampled_from(STRETCH).map(lambda times: _timed(data, lambda ts: ts * times))


def _in_bursts(data: Input) -> st.SearchStrategy[Input]:
    """A few instants of time at once, and then nothing for long."""
    return st.sampled_from(INSTANTS).map(
        lambda step: _timed(data, lambda ts: ts // step * (50 * step) + ts % step)
    )


def _silent(data: Input) -> st.SearchStrategy[Input]:
    """One stream has no events, or none after its half."""

    def build(which: int, share: int) -> Input:
        rows = {index: len(stream) for index, stream in enumerate(data.streams)}
        which %= len(rows)
        return first_rows(data, {**rows, which: rows[which] * share // 2})

    return st.builds(build, st.integers(0, 7), st.sampled_from([0, 1]))


SHAPES = (_tied, _stretched, _in_bursts, _silent)


def _timed(data: Input, change: Callable[[IntArray], IntArray]) -> Input:
    return replace(data, streams=tuple(replace(s, ts=change(s.ts)) for s in data.streams))


def _span(data: Input) -> tuple[int, int]:
    present = [stream.ts for stream in data.streams if len(stream)]
    if not present:
        return 0, 0
    return min(int(ts[0]) for ts in present), max(int(ts[-1]) for ts in present)


def _shifted(data: Input, where: str, lowest: int, highest: int) -> Input:
    """Move the first event to the lowest time, or the last to the highest."""
    first, last = _span(data)
    if not where:
        return data
    begin, end = (first, lowest) if where == "lowest" else (last, highest)
    return _timed(data, lambda ts: (ts - begin) + end)  # in two steps, each of 64 bits


@st.composite
def _with_heartbeats(draw: st.DrawFn, data: Input) -> Input:
    """Some streams say what has passed: right behind an event, or right before the next."""
    streams = []
    for stream in data.streams:
        later = stream.ts[1:] > stream.ts[:-1]
        beats = np.where(draw(st.booleans()), stream.ts[:-1], stream.ts[1:] - 1)[later]
        every = draw(st.sampled_from([1, 4, len(stream) + 1]))
        streams.append(replace(stream, heartbeats=np.unique(beats[::every].astype(np.int64))))
    return replace(data, streams=tuple(streams))
