"""Shares of a program's work, dealt from parts of the input, together give the reference's answer."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input, ties, unchanged
from streamlab.engines.multicore.dgs.partial_states import PartialStates, separation_of
from streamlab.engines.registry import engine
from streamlab.engines.small_dataset import write_dataset
from streamlab.engines.work_split import NoPartialsError, SplitsWork
from streamlab.workloads.model import ListColumn
from streamlab.workloads.model.operators.windows import flush_end
from streamlab.workloads.model.streams.stream import since, until
from streamlab.workloads.registry import workload
from tests.engines.tasks import assert_equal
from tests.workloads.suite.small_inputs import event_time_workloads

FULL = pytest.mark.full
SHOWN = ("keyed_counter", "wordcount", "campaign_views_tumbling", "event_window")
"""A program of each form."""


RESUMED = [
    pytest.param(n, marks=() if n in (*SHOWN, "nyse_hedge", "cart_abandonment") else FULL)
    for n in event_time_workloads()
]


def rows_of(stream, begin, end):
    return replace(
        stream,
        ts=stream.ts[begin:end],
        tag=None if stream.tag is None else stream.tag[begin:end],
        payload={name: column[begin:end] for name, column in stream.payload.items()},
    )


def joined(parts):
    """Return consecutive rows as one stream."""
    first = parts[0]
    payload = {}
    for name, column in first.payload.items():
        columns = [part.payload[name] for part in parts]
        lists = isinstance(column, ListColumn)
        payload[name] = ListColumn.concatenate(columns) if lists else np.concatenate(columns)
    tag = None if first.tag is None else np.concatenate([part.tag for part in parts])
    ts = np.concatenate([part.ts for part in parts])
    return replace(first, ts=ts, tag=tag, payload=payload)


def split_of(chosen, dataset, *, partials=True):
    core = engine("multicore")
    assert isinstance(core, SplitsWork)
    return core.split_work(chosen.program, dataset, shares=3, partials=partials)


def dealt_in(split, streams, parts):
    """Return the streams of each share; each stream is dealt in some parts."""
    shared = [streams[src] for src in split.shared]
    dealt = [[] for _ in range(split.shares)]
    for src, stream in enumerate(streams):
        ends = np.linspace(0, len(stream), parts + 1).astype(int)
        blocks = [split.distribute(src, rows_of(stream, *part), shared) for part in pairwise(ends)]
        for share, own in enumerate(dealt):
            own.append(joined([block[share] for block in blocks]))
    return dealt


def answer_in_shares(split, dataset, parts):
    """Return the answer of all shares, merged by time."""
    dealt = dealt_in(split, dataset.load().streams, parts)
    return merged([split.answer(share, streams) for share, streams in enumerate(dealt)])


def resumed_answer(split, program, data, parts):
    """Return the answer of all shares, each of which processes the input in parts of equal length in time."""
    streams = data.streams
    ends = [stream.ts[[0, -1]] for stream in streams if len(stream)]
    cuts = np.linspace(min(e[0] for e in ends), max(e[1] for e in ends), parts + 1).astype(int)
    period = getattr(program, "markers", 1)
    cuts = [int(cuts[0]), *(-(-cuts[1:-1] // period) * period).tolist(), data.until_ts]
    states, answers = [None] * split.shares, []
    for begin, end in pairwise(cuts):
        part = [until(since(stream, begin), end) for stream in streams]
        outputs = []
        for share, own in enumerate(dealt_in(split, part, parts=2)):
            output, state = split.resume(share, own, states[share], end)
            states[share] = pickle.loads(pickle.dumps(state))
            outputs.append(output)
        answers.append(merged(outputs))
    return {name: np.concatenate([a[name] for a in answers]) for name in answers[0]}


def merged(answers):
    """Return the answers of shares, merged by time."""
    time = np.concatenate([np.maximum.accumulate(answer["ts"]) for answer in answers])
    order = np.argsort(time, kind="stable")
    return {name: np.concatenate([a[name] for a in answers])[order] for name in answers[0]}


def dataset_of(name, derive, folder):
    """Return a workload, and a small input whose event time passes to its end."""
    chosen = workload(name)
    data = derive(ordinary_input(chosen))
    ends = [int(stream.ts[-1]) for stream in data.streams if len(stream)]
    until_ts = flush_end(chosen.program, ends)
    data = replace(data, until_ts=max(ends) + 1 if until_ts is None else until_ts)
    return chosen, data, replace(write_dataset(data, name, folder), until_ts=data.until_ts)


DERIVED = pytest.mark.parametrize("derive", [unchanged, ties], ids=["ordinary", "ties"])


@DERIVED
@pytest.mark.parametrize(
    "name",
    [*SHOWN, *(pytest.param(n, marks=FULL) for n in event_time_workloads() if n not in SHOWN)],
)
def test_shares_give_the_answer(name, derive, tmp_path):
    chosen, data, dataset = dataset_of(name, derive, tmp_path)
    answer = answer_in_shares(split_of(chosen, dataset), dataset, parts=4)
    assert_equal(chosen.oracle(data), answer, chosen.output)


@DERIVED
@pytest.mark.parametrize("name", ["keyed_counter", "event_window"])
def test_partial_states_give_the_answer(name, derive, tmp_path):
    chosen, data, dataset = dataset_of(name, derive, tmp_path)
    separation = separation_of(chosen.program, dataset)
    split = PartialStates(chosen.program, dataset, separation, shares=3)
    answer = answer_in_shares(split, dataset, parts=4)
    assert_equal(chosen.oracle(data), answer, chosen.output)


@DERIVED
@pytest.mark.parametrize("name", RESUMED)
def test_shares_that_resume_give_the_answer(name, derive, tmp_path):
    chosen, data, dataset = dataset_of(name, derive, tmp_path)
    answer = resumed_answer(split_of(chosen, dataset), chosen.program, data, parts=5)
    assert_equal(chosen.oracle(data), answer, chosen.output)


@DERIVED
@pytest.mark.parametrize("name", ["keyed_counter", "event_window"])
def test_partial_states_that_resume_give_the_answer(name, derive, tmp_path):
    chosen, data, dataset = dataset_of(name, derive, tmp_path)
    separation = separation_of(chosen.program, dataset)
    split = PartialStates(chosen.program, dataset, separation, shares=3)
    answer = resumed_answer(split, chosen.program, data, parts=5)
    assert_equal(chosen.oracle(data), answer, chosen.output)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("page_view_join", "emit outputs"), ("fraud_detection", "emit outputs")],
)
def test_partial_states_that_need_earlier_ones_are_refused(name, reason, tmp_path):
    chosen, _, dataset = dataset_of(name, unchanged, tmp_path)
    separation = separation_of(chosen.program, dataset)
    split = PartialStates(chosen.program, dataset, separation, shares=3)
    with pytest.raises(NoPartialsError, match=reason):
        answer_in_shares(split, dataset, parts=4)


def test_few_events_a_state_are_dealt_as_events(tmp_path):
    chosen, _, dataset = dataset_of("keyed_counter", unchanged, tmp_path)
    assert separation_of(chosen.program, dataset) is not None
    assert split_of(chosen, dataset).form == "events by key"
