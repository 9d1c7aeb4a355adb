"""The meaning of pipelines: the interpreter against loops, and the errors of wrong pipelines."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from streamlab.workloads.model import (
    Alphabet,
    Input,
    ModelError,
    Pipeline,
    ProgramError,
    Stream,
    partitioned,
    stateful,
    stateless,
)
from streamlab.workloads.model.code.constants import constants
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs, records
from tests.examples import examples
from tests.workloads.model.pipelines import (
    ALL_KINDS,
    BY_KEY,
    EVENT,
    OF_ALL,
    PAIR,
    SUM,
    TWICE,
    pipeline,
)
from tests.workloads.suite.streams import in_order


def rows(program: Pipeline, data: Input) -> list[tuple[int, ...]]:
    found = answer_of(program, data)
    assert {name: column.dtype for name, column in found.items()} == {
        name: program.output[name] for name in program.output.names or ()
    }
    return list(zip(*(column.tolist() for column in found.values()), strict=True))


@settings(deadline=None)
@given(inputs(ALL_KINDS, max_events=20))
def test_records_go_through_all_operators_one_after_the_other(data: Input):
    """Depth first: a record's last output is out before the next record is taken."""
    expected, of_key, total = [], defaultdict(int), 0
    for ts, _, _, payload in in_order(data):
        k, v = payload["k"], payload["v"]
        for value in () if v == 0 else (v, v + 100):
            of_key[k] += value
            total += of_key[k]
            if total % 2 == 0:
                expected.append((ts, k, total))
    assert rows(ALL_KINDS, data) == expected


@pytest.mark.parametrize("index", range(3))
def test_each_operator_does_the_same_alone_and_among_others(index: int):
    @settings(deadline=None, max_examples=examples(50))
    @given(inputs(ALL_KINDS, max_events=12))
    def holds(data: Input) -> None:
        stage = ALL_KINDS.stages[index]
        expected = []
        state: Any = defaultdict(int)
        for ts, _, _, payload in in_order(data):
            k, v = payload["k"], payload["v"]
            if stage is TWICE:
                expected += [] if v == 0 else [(ts, k, v), (ts, k, v + 100)]
            elif stage is BY_KEY:
                state[k] += v
                expected.append((ts, k, state[k]))
            else:
                state[0] += v
                expected += [(ts, k, state[0])] if state[0] % 2 == 0 else []
        assert rows(pipeline(stage), data) == expected

    holds()


def test_an_input_of_any_layout_can_be_drawn():
    seen = set()

    @settings(deadline=None, max_examples=examples(200), database=None)
    @given(inputs(ALL_KINDS))
    def draws(data: Input) -> None:
        assert all(stream.kinds == (0,) and stream.tag is None for stream in data.streams)
        assert data.until_ts is None
        times = np.concatenate([stream.ts for stream in data.streams])
        seen.add(("streams", len(data.streams)))
        seen.add(("silent", any(len(stream) == 0 for stream in data.streams)))
        seen.add(("ties", len(set(times.tolist())) < len(times)))
        of_each = [set(stream.ts.tolist()) for stream in data.streams]
        seen.add(("between streams", sum(map(len, of_each)) > len(set().union(*of_each))))

    draws()
    assert {("streams", n) for n in (1, 2, 3)} <= seen
    assert {(what, True) for what in ("silent", "ties", "between streams")} <= seen


GAP = 3600
WANTED = (10_001, 10_003)


def is_wanted(number: int) -> bool:
    return number in WANTED


def after_a_gap(s: Any, t: Any, out: Any) -> None:
    if is_wanted(t.v) and t.ts - s.sum > GAP:
        out.emit(t.k, t.v)
    s.sum = t.ts


def test_drawn_records_hold_the_constants_of_comparisons():
    found = pipeline(replace(OF_ALL, apply=after_a_gap))
    assert {GAP, *WANTED} <= set(constants(found))
    made = 0

    # The same hundred each time: whether one of fewer is wanted is chance.
    @settings(deadline=None, max_examples=100, database=None, derandomize=True)
    @given(records(found, max_size=10))
    def draws(drawn: list[Any]) -> None:
        nonlocal made
        assert [t.ts for t in drawn] == sorted(t.ts for t in drawn)
        before = 0
        for t in drawn:
            made += is_wanted(t.v) and t.ts - before > GAP
            before = t.ts

    draws()
    assert made > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": np.dtype([("k", np.int32)])}, "operator twice: the first output field must be"),
        ({"output": np.dtype([("ts", np.int32)])}, "operator twice: ts is int32"),
        ({"key": lambda t: 0}, "operator twice has keys but no state"),
        ({"state": np.dtype(np.int64)}, "operator twice: the state dtype int64 has no named"),
        ({"partitions": 0}, "operator twice: partitions is 0"),
        ({"max_outputs": 0}, "operator twice: max_outputs is 0"),
        ({"bounds": (3, 3)}, r"operator twice: bounds must ascend, got \(3, 3\)"),
    ],
)
def test_operators_that_make_no_sense_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ProgramError, match=message):
        replace(TWICE, **changes)


def test_pipelines_that_make_no_sense_are_refused():
    with pytest.raises(ProgramError, match="pipeline empty needs at least one operator"):
        Pipeline(name="empty", record="pair", event=EVENT, stages=())
    with pytest.raises(ProgramError, match="pipeline timed: every record has ts"):
        Pipeline(name="timed", record="pair", event=PAIR, stages=(TWICE,))


def test_operators_know_their_kind_and_the_fields_that_they_read():
    assert [stage.kind for stage in ALL_KINDS.stages] == ["stateless", "partitioned", "stateful"]
    assert ALL_KINDS.input_of(0) == EVENT
    assert ALL_KINDS.input_of(1) == np.dtype([("k", np.int32), ("v", np.int64)])
    assert ALL_KINDS.output == PAIR
    assert ALL_KINDS.kinds == ("pair",)


def one(v: int) -> Input:
    payload = {"k": np.array([1], np.int32), "v": np.array([v], np.int32)}
    stream = Stream(name="s", kinds=(0,), ts=np.array([5], np.int64), payload=payload)
    return Input(alphabet=Alphabet(kinds=("pair",)), streams=(stream,))


def test_errors_name_the_operator():
    with pytest.raises(ModelError, match="operator twice forwards more than 1 records"):
        answer_of(pipeline(replace(TWICE, max_outputs=1)), one(1))
    with pytest.raises(ModelError, match=r"operator few: out.emit got 1 fields \(1,\)"):
        answer_of(pipeline(replace(TWICE, name="few", apply=lambda t, out: out.emit(1))), one(1))
    wide = replace(TWICE, name="wide", apply=lambda t, out: out.emit(2**31, 0))
    with pytest.raises(ModelError, match=r"operator wide: 2147483648 does not fit .* int32"):
        answer_of(pipeline(wide, BY_KEY), one(1))


def test_elements_of_a_states_array_do_not_wrap():
    state = np.dtype([("sums", np.int64, (2,))])

    def apply(s: Any, t: Any, out: Any) -> None:
        s.sums[0] += 2**40
        out.emit(s.sums[0], 0)

    first = stateful(name="sums", output=PAIR, state=state, apply=apply)
    with pytest.raises(ModelError, match=r"operator sums: .*1099511627776.* does not fit"):
        answer_of(pipeline(first, BY_KEY), one(1))


def test_forwarded_values_take_the_width_of_their_field():
    half = stateless(
        name="half",
        output=np.dtype([("ts", np.int64), ("k", np.int32), ("v", np.float32)]),
        apply=lambda t, out: out.emit(t.k, t.v / 10),
    )
    kept = stateless(
        name="kept",
        output=np.dtype([("ts", np.int64), ("v", np.float64)]),
        apply=lambda t, out: out.emit(t.v),
    )
    assert answer_of(pipeline(half, kept), one(1))["v"].tolist() == [float(np.float32(0.1))]


def test_states_start_zeroed_for_each_key():
    state = np.dtype([("sum", np.int64), ("last", np.int32, (2,))])

    def apply(s: Any, t: Any, out: Any) -> None:
        out.emit(t.k, s.sum + int(s.last[0]))
        s.sum = 7
        s.last[0] = 8

    stage = partitioned(name="keep", output=PAIR, key=lambda t: t.k, state=state, apply=apply)
    assert answer_of(pipeline(stage, replace(BY_KEY, state=SUM)), one(1))["v"].tolist() == [0]
