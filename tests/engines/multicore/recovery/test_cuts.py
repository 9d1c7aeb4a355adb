"""Cuts divide the total order, with any plan."""

import numpy as np
import pytest

from streamlab.engines.multicore.dgs.recovery import cuts as module
from streamlab.engines.multicore.dgs.recovery.cuts import (
    cuts_after,
    drop_before,
    find_cuts,
    positions_at,
    synchronizing_kinds,
)
from tests.engines.multicore.recovery.small_runs import NAMES, input_of, program_of

EVENTS = 600


def total_order(data):
    """Return (time, stream, position, kind) of all events in their order."""
    n = len(data.alphabet.kinds)
    return sorted(
        (int(ts), s, i, stream.kinds[0] if stream.tag is None else int(stream.tag[i]) % n)
        for s, stream in enumerate(data.streams)
        for i, ts in enumerate(stream.ts)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("every", [1, 3])
def test_cuts_lie_before_every_nth_event_that_synchronizes(name, every):
    data, kinds = input_of(name, EVENTS), synchronizing_kinds(program_of(name))
    events = [event[:3] for event in total_order(data) if event[3] in kinds]
    found = find_cuts(program_of(name), data, every)
    assert found.tolist() == events[every - 1 :: every]
    assert len(found) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_positions_count_what_precedes_a_cut(name):
    data = input_of(name, EVENTS)
    order = [event[:3] for event in total_order(data)]
    found = find_cuts(program_of(name), data, 1)
    for i in range(0, len(found), 7):
        before = [stream for _, stream, _ in order[: order.index(found[i].item())]]
        counts = tuple(before.count(stream) for stream in range(len(data.streams)))
        assert positions_at(data, *found[i].item()) == counts


@pytest.mark.parametrize("name", NAMES)
def test_the_input_after_a_cut_has_the_later_cuts(name):
    data = input_of(name, EVENTS)
    found = find_cuts(program_of(name), data, 2)
    at = positions_at(data, *found[len(found) // 2].item())
    rest, left = drop_before(data, at), cuts_after(found, at)
    assert rest.events == data.events - sum(at)
    assert len(left) == len(found) - len(found) // 2 - 1
    for i in range(len(left)):
        ts, stream, position = left[i].item()
        assert rest.streams[stream].ts[position] == ts


def test_more_cuts_than_can_be_of_use_are_thinned_out_evenly(monkeypatch):
    monkeypatch.setattr(module, "MAX_CUTS", 10)
    data = input_of("page_view_join", EVENTS)
    found = find_cuts(program_of("page_view_join"), data, 1)
    assert len(found) == 10
    assert (np.diff(found["ts"]) >= 0).all()
