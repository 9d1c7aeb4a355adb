"""The predictions of smart_home: by hand, by fractions one by one, and what generators make."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.inputs.homes import (
    FIELDS,
    HOUSE_END,
    KINDS,
    LOAD,
    SECONDS_A_DAY,
    SLICE_END,
    unfit,
)
from streamlab.workloads.model import Alphabet, Input, Stream
from streamlab.workloads.registry import workload
from tests.workloads.suite.power_inputs import half_up
from tests.workloads.suite.streams import agreed, generated, in_order

SMART_HOME = workload("smart_home")
QUARTERS = {"slice_s": SECONDS_A_DAY // 4, "plugs_per_household": 2, "households_per_house": 2}
QUARTER_S = QUARTERS["slice_s"]
PLUG, HOUSEHOLD, HOUSE = range(3)
SUMMARY = {1: PLUG, 2: HOUSEHOLD, 4: HOUSE}


def of(loads, ends, keys, kind=SLICE_END):
    """Return loads (ts, plug, load_mw) and ends (ts, key) as an input."""

    def stream(name, kind, events, payload):
        columns = np.array(events, np.int64).reshape(len(events), -1)
        key = columns[:, 1] if len(events) else np.empty(0, np.int64)
        return Stream(
            name=name,
            kinds=(kind,),
            ts=columns[:, 0] if len(events) else np.empty(0, np.int64),
            tag=(kind + len(KINDS) * key).astype(np.int32),
            payload={
                one: (columns[:, 2] if len(events) else key).astype(FIELDS[one]) for one in payload
            },
        )

    loads, ends = (sorted(events, key=lambda event: event[0]) for events in (loads, ends))
    streams = (stream("load-0", LOAD, loads, FIELDS.names), stream(KINDS[kind], kind, ends, ()))
    return Input(alphabet=Alphabet(kinds=KINDS, keys=keys), streams=streams)


def end_of(quarter):
    return (quarter + 1) * QUARTER_S - 1


def both(data, query=QUARTERS):
    """Return the rows of the answer, in which oracle and program agree."""
    return agreed(SMART_HOME.bound(query), data)


def test_two_plugs_over_two_days_by_hand():
    loads = [
        (0, 0, 100),
        (10, 0, 201),  # 150.5, rounded up to 151
        (20, 1, 1000),
        (2 * QUARTER_S, 0, 40),
        (2 * QUARTER_S, 1, 60),
        (4 * QUARTER_S, 0, 300),
        (6 * QUARTER_S, 1, 90),
        (8 * QUARTER_S, 0, 8),
        (10 * QUARTER_S, 0, 1),
    ]
    data = of(loads, [(end_of(quarter), 0) for quarter in range(11)], keys=2)
    assert both(data) == [
        # No earlier day: the average.
        (end_of(0), PLUG, 0, 2, 151, 151),
        (end_of(0), PLUG, 1, 2, 1000, 1000),
        (end_of(0), HOUSEHOLD, 0, 2, 1151, 1151),
        (end_of(0), HOUSE, 0, 2, 1151, 1151),
        # Two slices after the third quarter comes the first one of a day.
        (end_of(2), PLUG, 0, 4, 40, 96),  # (40 + 151) / 2, rounded up
        (end_of(2), PLUG, 1, 4, 60, 530),
        (end_of(2), HOUSEHOLD, 0, 4, 100, 626),  # (100 + 1151) / 2
        (end_of(2), HOUSE, 0, 4, 100, 626),
        (end_of(4), PLUG, 0, 6, 300, 170),  # (300 + 40) / 2
        (end_of(4), HOUSEHOLD, 0, 6, 300, 200),  # the household's third quarter had 100
        (end_of(4), HOUSE, 0, 6, 300, 200),
        (end_of(6), PLUG, 1, 8, 90, 545),  # plug 1 was silent in the second day's first quarter
        (end_of(6), HOUSEHOLD, 0, 8, 90, 408),  # (90 + (300 + 1151) / 2) / 2 = 407.75
        (end_of(6), HOUSE, 0, 8, 90, 408),
        (end_of(8), PLUG, 0, 10, 8, 24),  # third quarter: only 40; on the second day silent
        (end_of(8), HOUSEHOLD, 0, 10, 8, 52),  # (8 + (90 + 100) / 2) / 2 = 51.5
        (end_of(8), HOUSE, 0, 10, 8, 52),
        (end_of(10), PLUG, 0, 12, 1, 76),  # (1 + median of 8, 151, 300) / 2
        (end_of(10), HOUSEHOLD, 0, 12, 1, 151),  # (1 + median of 8, 300, 1151) / 2 = 150.5
        (end_of(10), HOUSE, 0, 12, 1, 151),
    ]


def test_a_plug_that_is_silent_in_a_slice_has_no_prediction_and_no_part_in_others():
    loads = [(0, 0, 10), (0, 1, 20), (QUARTER_S, 1, 30)]
    data = of(loads, [(end_of(0), 0), (end_of(1), 0), (end_of(2), 0)], keys=4)
    assert [row[1:3] + row[4:] for row in both(data) if row[0] == end_of(1)] == [
        (PLUG, 1, 30, 30),
        (HOUSEHOLD, 0, 30, 30),
        (HOUSE, 0, 30, 30),
    ]
    assert not [row for row in both(data) if row[0] == end_of(2)]


def test_a_household_without_loads_is_not_there_and_its_house_is():
    found = both(of([(0, 6, 10), (0, 7, 20)], [(end_of(0), 0)], keys=8))
    assert [row[1:3] for row in found] == [(PLUG, 6), (PLUG, 7), (HOUSEHOLD, 3), (HOUSE, 1)]


def test_a_plug_that_is_new_after_days_has_no_past():
    days = range(3)
    loads = [(4 * day * QUARTER_S, 0, 100) for day in days]
    loads += [(end_of(10), 0, 50), (end_of(10), 1, 70)]
    found = both(of(loads, [(end_of(quarter), 0) for quarter in range(11)], keys=2))
    assert [row[1:3] + row[4:] for row in found[-4:]] == [
        (PLUG, 0, 50, 75),
        (PLUG, 1, 70, 70),
        (HOUSEHOLD, 0, 120, 110),
        (HOUSE, 0, 120, 110),
    ]


def test_so_many_earlier_days_are_in_the_median():
    loads = [(4 * day * QUARTER_S, 0, 100 * (day + 1)) for day in range(5)]
    loads.append((18 * QUARTER_S, 0, 0))
    data = of(loads, [(end_of(quarter), 0) for quarter in range(19)], keys=1)
    for days, expected in ((1, 250), (2, 225), (3, 200), (31, 150)):
        assert both(data, QUARTERS | {"days": days})[-1][5] == expected


def test_a_house_ends_its_slice_alone():
    loads = [(0, 0, 10), (0, 4, 20), (1, 4, 40)]
    data = of(loads, [(0, 1), (5, 0), (9, 1)], keys=8, kind=HOUSE_END)
    assert [(row[0], *row[1:3], row[4]) for row in both(data)] == [
        (0, PLUG, 4, 20),
        (0, HOUSEHOLD, 2, 20),
        (0, HOUSE, 1, 20),
        (5, PLUG, 0, 10),
        (5, HOUSEHOLD, 0, 10),
        (5, HOUSE, 0, 10),
        (9, PLUG, 4, 40),
        (9, HOUSEHOLD, 2, 40),
        (9, HOUSE, 1, 40),
    ]


@st.composite
def homes(draw):
    """Loads and ends of both kinds over days, in several streams, with ties."""
    keys = draw(st.integers(1, 9))
    streams = []
    for index, kinds in enumerate(draw(st.permutations([(LOAD,), (LOAD,), (1,), (2,), (0, 1, 2)]))):
        ts = sorted(draw(st.lists(st.integers(-3, 14), max_size=12)))
        tags = []
        for _ in ts:
            kind = draw(st.sampled_from(kinds))
            most = {LOAD: keys - 1, HOUSE_END: (keys - 1) // 4, SLICE_END: 0}[kind]
            tags.append(kind + len(KINDS) * draw(st.integers(0, most)))
        loads = draw(st.lists(st.integers(-50, 50), min_size=len(ts), max_size=len(ts)))
        streams.append(
            Stream(
                name=f"s{index}",
                kinds=kinds,
                ts=np.array(ts, np.int64) * (QUARTER_S // 2),
                tag=np.array(tags, np.int32),
                payload={"load_mw": np.array(loads, np.int32)},
            )
        )
    return Input(alphabet=Alphabet(kinds=KINDS, keys=keys), streams=tuple(streams))


def one_by_one(data, days):
    """Return what must come out, by exact fractions, in the words of the challenge."""
    loads, averages, found = defaultdict(list), defaultdict(dict), []
    for ts, kind, key, payload in in_order(data):
        if kind == LOAD:
            loads[key].append(payload["load_mw"])
            continue
        number = ts // QUARTER_S
        plugs = [
            plug for plug in range(data.alphabet.keys) if kind == SLICE_END or plug // 4 == key
        ]
        for plug in plugs:
            if own := loads.pop(plug, []):
                averages[plug][number] = half_up(Fraction(sum(own), len(own)))
        for size, level in SUMMARY.items():
            for which in sorted({plug // size for plug in plugs}):

                def of(slice_, size=size, which=which, plugs=plugs):
                    own = [
                        averages[p][slice_]
                        for p in plugs
                        if p // size == which and slice_ in averages[p]
                    ]
                    return sum(own) if own else None

                if (now := of(number)) is None:
                    continue
                past = [of(number + 2 - 4 * day) for day in range(1, days + 1)]
                past = [one for one in past if one is not None]
                typical = median(map(Fraction, past)) if past else now
                predicted = half_up((now + typical) / 2)
                found.append((ts, level, which, number + 2, now, predicted))
    return sorted(found)


@given(homes(), st.sampled_from([1, 2, 31]))
def test_the_answer_is_that_of_a_loop_as_in_the_challenge(data: Input, days: int):
    assert sorted(both(data, QUARTERS | {"days": days})) == one_by_one(data, days)


@pytest.mark.parametrize("ends", ["all", "house"])
def test_streams_have_whole_houses_and_slices_end_behind_their_loads(ends: str):
    params = {"houses": 5, "streams": 2, "period_s": 600, "ends": ends}
    data = generated(SMART_HOME, params, 2000, seed=4)
    *loads, last = data.streams
    houses = [set((stream.tag // len(KINDS) // 16).tolist()) for stream in loads]
    assert houses == [{0, 2, 4}, {1, 3}]
    assert [len(stream) for stream in loads] == [25 * 48, 25 * 32]
    each = 5 if ends == "house" else 1
    assert last.ts.tolist() == [3599 + 3600 * hour for hour in range(4) for _ in range(each)]
    assert (last.tag // len(KINDS)).tolist() == [*range(each)] * 4
    found = SMART_HOME.oracle(data)
    assert len(found["ts"]) == 4 * 5 * (16 + 4 + 1)


@pytest.mark.parametrize(
    "origin",
    [
        {"params": {"plugs_per_household": 9, "households_per_house": 4, "slice_s": 3600}},
        {"settings": {"plugs-per-household": 9, "mean": "1s"}},
    ],
)
def test_a_query_of_another_layout_than_its_input_is_refused_with_the_parameter(origin):
    alphabet = Alphabet(kinds=KINDS, keys=16)
    dataset = Dataset(
        id="ab" * 32,
        workload="smart_home",
        alphabet=alphabet,
        streams=(),
        origin=origin,
        source="",
        licence="",
    )
    query = dict(SMART_HOME.query_params)
    assert "give it query parameter plugs_per_household=9" in unfit(query, dataset)
    assert not unfit(query | {"plugs_per_household": 9}, dataset)
    assert not unfit(query, replace(dataset, origin={}))
