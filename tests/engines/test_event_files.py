"""An output that the passing of a time makes is due when events or heartbeats show that it has passed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamlab.engines.event_files import due_of_times
from streamlab.engines.protocol import OfferedLoad
from streamlab.workloads.model import Alphabet, Input, Stream

_TIMES = st.lists(st.integers(0, 20), max_size=8).map(sorted)


@st.composite
def loads(draw):
    """Event times and due times of up to three streams, and their heartbeats."""
    streams = draw(st.lists(_TIMES, min_size=1, max_size=3))
    beats = [sorted(set(draw(_TIMES))) for _ in streams]
    due = [
        sorted(draw(st.lists(st.integers(0, 99), min_size=len(ts), max_size=len(ts))))
        for ts in streams + beats
    ]
    return streams, beats, due[: len(streams)], due[len(streams) :]


@given(loads(), st.lists(st.integers(-1, 25)))
def test_a_time_is_due_with_the_first_event_or_heartbeat_that_shows_it_or_with_the_last(
    load, times
):
    streams, beats, due, beat_due = load
    data = Input(
        alphabet=Alphabet(kinds=("e",), keys=1),
        streams=tuple(
            Stream(name=f"s{i}", kinds=(0,), ts=np.array(ts, np.int64), tag=None, payload={})
            for i, ts in enumerate(streams)
        ),
    )
    offered = OfferedLoad(
        due_ns=_arrays(due),
        heartbeat_ts=_arrays(beats),
        heartbeat_due_ns=_arrays(beat_due),
        warm_up_ns=0,
        end_ns=100,
    )
    expected = []
    for time in times:
        by_stream = []
        for index, ts in enumerate(streams):
            showing = [at for t, at in zip(ts, due[index], strict=True) if t >= time]
            showing += [
                at for t, at in zip(beats[index], beat_due[index], strict=True) if t + 1 >= time
            ]
            by_stream.append(min(showing, default=max([0, *due[index], *beat_due[index]])))
        expected.append(max(by_stream))
    assert due_of_times(offered, data, np.array(times, np.int64)).tolist() == expected


def _arrays(lists):
    return tuple(np.array(values, np.int64) for values in lists)
