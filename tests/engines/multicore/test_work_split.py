"""Shares of a program's work, dealt from parts of the input, together give the reference's answer."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input, ties
from streamlab.engines.registry import engine
from streamlab.engines.work_split import SplitsWork
from streamlab.workloads.model import ListColumn
from streamlab.workloads.model.operators.windows import flush_end
from streamlab.workloads.registry import names, workload
from tests.engines.tasks import assert_equal

SHOWN = ("keyed_counter", "wordcount", "campaign_views_tumbling", "event_window")
"""A program of each form."""


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


def answer_in_shares(program, data, shares, parts):
    """Return the answer of all shares, merged by time; each stream is dealt in some parts."""
    last = max(int(stream.ts[-1]) for stream in data.streams if len(stream))
    until_ts = last + 1 if data.until_ts is None else data.until_ts
    core = engine("multicore")
    assert isinstance(core, SplitsWork)
    split = core.split_work(program, data.alphabet, until_ts=until_ts, shares=shares)
    dealt = [[] for _ in range(split.shares)]
    for stream in data.streams:
        ends = np.linspace(0, len(stream), parts + 1).astype(int)
        blocks = [split.deal(rows_of(stream, begin, end)) for begin, end in pairwise(ends)]
        for share, own in enumerate(dealt):
            own.append(joined([block[share] for block in blocks]))
    answers = [split.answer(streams) for streams in dealt]
    time = np.concatenate([np.maximum.accumulate(answer["ts"]) for answer in answers])
    order = np.argsort(time, kind="stable")
    return {name: np.concatenate([a[name] for a in answers])[order] for name in answers[0]}


@pytest.mark.parametrize("derive", [lambda data: data, ties], ids=["ordinary", "ties"])
@pytest.mark.parametrize(
    "name", [*SHOWN, *(pytest.param(n, marks=pytest.mark.full) for n in names() if n not in SHOWN)]
)
def test_shares_give_the_answer(name, derive):
    chosen = workload(name)
    data = derive(ordinary_input(chosen))
    ends = [int(stream.ts[-1]) for stream in data.streams if len(stream)]
    data = replace(data, until_ts=flush_end(chosen.program, ends))
    answer = answer_in_shares(chosen.program, data, shares=3, parts=4)
    assert_equal(chosen.oracle(data), answer, chosen.output)
