"""Input whose rates drift: the shares of the whole stay, those of an era do not."""

import numpy as np
import pytest

from streamlab.workloads.datasets.drift import awake_span, awake_ticks
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import generated

ERA, STREAMS = 50, 4
WAKING = {"event_window": "values_per_barrier", "fraud_detection": "transactions_per_rule"}


def waking(name, events=4_000, **given):
    return generated(workload(name), {"streams": STREAMS, WAKING[name]: 10, **given}, events, 1)


@pytest.mark.parametrize("name", WAKING)
def test_two_streams_are_awake_at_a_time_and_all_pairs_take_turns(name):
    streams = waking(name, drift=ERA).streams
    ordinary, syncs = streams[:-1], streams[-1]
    assert all((np.diff(stream.ts) > 0).all() for stream in ordinary)
    assert len({len(stream) for stream in ordinary}) == 1
    pairs = []
    for era in range(6):
        awake = [stream.ts[stream.ts // ERA == era] for stream in ordinary]
        assert sorted(map(len, awake)) == [0, 0, ERA, ERA]
        pairs.append(tuple(index for index, ts in enumerate(awake) if len(ts)))
    assert len(set(pairs)) == 6
    # Synchronizing events keep their rhythm to the end.
    assert (np.diff(syncs.ts) == 10).all()
    assert 0 <= max(stream.ts[-1] for stream in ordinary) - syncs.ts[-1] < 10


@pytest.mark.parametrize("name", WAKING)
def test_without_drift_or_with_two_streams_nothing_is_another(name):
    plain = waking(name)
    assert all((stream.ts == np.arange(len(stream))).all() for stream in plain.streams[:-1])
    two, drifting = (
        generated(workload(name), {"streams": 2, "drift": drift}, 500, 1) for drift in (0, ERA)
    )
    for a, b in zip(two.streams, drifting.streams, strict=True):
        assert np.array_equal(a.ts, b.ts)
        assert all(np.array_equal(a.payload[field], b.payload[field]) for field in a.payload)


def test_rows_are_made_in_any_pieces():
    whole = awake_ticks(0, 1_000, STREAMS, 2, ERA)
    cut = [awake_ticks(begin, begin + 125, STREAMS, 2, ERA) for begin in range(0, 1_000, 125)]
    assert np.array_equal(whole, np.concatenate(cut))
    assert awake_span(0, STREAMS, ERA) == 0
    assert awake_span(3 * ERA, STREAMS, ERA) == 6 * ERA


def test_the_hot_page_moves_and_the_others_with_it():
    given = {"streams": 1, "pages": 8, "skew": 2.0}
    staying, moving = (
        generated(workload("page_view_join"), {**given, "drift": drift}, 4_000, 1)
        for drift in (0, 1_000)
    )
    pages = [data.streams[0].tag // 2 for data in (staying, moving)]
    era = np.arange(len(pages[0])) // 1_000
    assert np.array_equal((pages[0] + era) % 8, pages[1])
    hottest = [np.bincount(pages[1][era == e], minlength=8).argmax() for e in range(4)]
    assert hottest == [0, 1, 2, 3]


@pytest.mark.parametrize("name", [*WAKING, "page_view_join"])
def test_the_oracle_agrees_with_the_sequential_program_on_drifting_input(name):

    subject = workload(name)
    params = {"streams": 3, "drift": ERA, **({WAKING[name]: 10} if name in WAKING else {})}
    data = generated(subject, params, 1_000, 1)
    assert compare(subject.oracle(data), answer_of(subject.program, data), subject.output).equal
