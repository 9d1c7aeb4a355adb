"""Events that arrive from outside during a run: the answer is right in any case, and a failure ends the run."""

import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.broker.generator import load_at_once
from streamlab.engines.broker.reader import ABSENT, clear
from streamlab.engines.broker.records import columns_of
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.adapter import FAMILIES
from streamlab.workloads.model.operators.windows import flush_end
from streamlab.workloads.registry import workload
from tests.engines.multicore.native_runs import make_run
from tests.engines.tasks import assert_equal

RUNS = [
    ("event_window", "dgs"),
    ("page_view_join", "dgs"),
    ("fraud_detection", "dgs"),
    ("keyed_counter", "dgs"),
    ("user_activity", "dataflow"),
    ("forward", "vsn"),
    ("forward", "sn"),
    ("scale_join", "vsn"),
    ("scale_join", "adhoc"),
    ("scale_join", "indexed"),
    ("linear_road_pos_rep", "ordered"),
    ("linear_road_pos_rep", "layers"),
    ("parametric", "ordered"),
    ("sensor_interpolation", "dataflow"),
]


def received_input(name):
    """An input as a dataset on disk gives it to a program."""
    subject = workload(name)
    data = ordinary_input(subject)
    lasts = (int(stream.ts[-1]) for stream in data.streams if len(stream))
    return subject, replace(data, until_ts=flush_end(subject.program, lasts))


def copied(data):
    """The same input in memory of its own."""
    return replace(
        data,
        streams=tuple(
            replace(
                stream,
                ts=stream.ts.copy(),
                tag=None if stream.tag is None else stream.tag.copy(),
                payload={name: np.array(column) for name, column in stream.payload.items()},
            )
            for stream in data.streams
        ),
    )


def send(data, run, streams, chance):
    """Write rows into the columns of a run, in steps of random length, of a random stream each."""
    sent = [0] * len(streams)
    left = list(range(len(streams)))
    while left:
        index = int(chance.choice(left))
        whole, columns = data.streams[index], columns_of(streams[index])
        end = min(sent[index] + int(chance.integers(0, 200)), len(whole))
        for name, column in columns_of(whole).items():
            columns[name][sent[index] : end] = column[sent[index] : end]
        sent[index] = end
        beats = len(whole.heartbeats)
        if end < len(whole):
            beats = int(np.searchsorted(whole.heartbeats, whole.ts[end]))
        run.receive(index, end, beats)
        if end == len(whole):
            left.remove(index)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("name", "variant"), RUNS, ids=map("/".join, RUNS))
def test_rows_that_arrive_in_any_steps_give_the_answer_of_the_oracle(name, variant, workers):
    found, data = received_input(name)
    workers = 1 if variant == "indexed" else workers
    mine = copied(data)
    run = make_run(
        *(variant, found.program, mine),
        received=True,
        load=load_at_once(mine.streams),
        workers=workers,
        batch=64,
    )
    with closing(run):
        clear(mine.streams)
        assert all((stream.ts == ABSENT).all() for stream in mine.streams)
        sender = threading.Thread(
            target=send, args=(data, run, mine.streams, np.random.default_rng(workers))
        )
        sender.start()
        measured = run.run()
        sender.join()
        assert measured.events == data.events
        assert_equal(found.oracle(data), run.answer(), found.output)


def test_a_failed_sender_ends_the_run_with_its_error():
    found, data = received_input("event_window")
    run = make_run(
        "dgs", found.program, data, received=True, load=load_at_once(data.streams), workers=2
    )

    class LostError(Exception):
        pass

    def lose():
        raise LostError("the sender is gone")

    with closing(run):
        run.check_input = lose
        with pytest.raises(LostError, match="the sender is gone"):
            run.run()


def test_a_column_that_the_core_would_copy_is_refused():
    found, data = received_input("linear_road_pos_rep")
    wide = replace(
        data,
        streams=tuple(
            replace(
                stream,
                payload={name: np.asarray(c).astype("i8") for name, c in stream.payload.items()},
            )
            for stream in data.streams
        ),
    )
    with pytest.raises(UnsupportedError, match="in another type"):
        make_run("ordered", found.program, wide, received=True, load=load_at_once(wide.streams))


def test_every_family_is_tested():
    assert {variant for _, variant in RUNS} | {"sn-map", "1t"} == set(FAMILIES)
