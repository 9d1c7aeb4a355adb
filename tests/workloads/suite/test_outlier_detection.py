"""Outlier detection: its program, its oracle, and what is found against what was planted."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.inputs.connections.generate import PLANTED
from streamlab.workloads.inputs.connections.schema import COLUMNS, CONTINUOUS, scaled
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan_interpreter import run_plan
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.optimizers.registry import choose
from streamlab.workloads.optimizers.request import PlanRequest
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.outlier_detection.features import read_features
from streamlab.workloads.suite.outlier_detection.program import MAX_CANDIDATES, OUTLIER, PROGRAM
from streamlab.workloads.suite.outlier_detection.quality import quality
from tests.workloads.suite.streams import generated

OUTLIERS = workload("outlier_detection")
FEW = {"connections_per_check": 60, "profiles": 3, "outliers": 0.03}


def small(events: int = 500, seed: int = 1, **params: object) -> Input:
    return generated(OUTLIERS, {**FEW, **params}, events, seed=seed)


def answers(data: Input) -> tuple[list[list[int]], list[list[int]]]:
    by_program, by_oracle = answer_of(PROGRAM, data), OUTLIERS.oracle(data)
    return tuple([c.tolist() for c in answer.values()] for answer in (by_program, by_oracle))


def test_the_program_and_the_oracle_find_the_same_outliers():
    by_program, by_oracle = answers(small())
    assert by_program == by_oracle
    assert OUTLIER in by_program[1]


@settings(max_examples=5)
@given(inputs(PROGRAM, max_events=15, layouts=[(("connection",), ("connection",), ("check",))]))
def test_they_agree_on_odd_values(data: Input):
    by_program, by_oracle = answers(data)
    assert by_program == by_oracle


def test_of_too_many_potential_outliers_those_with_the_highest_scores_stay():
    data = small(events=1210, connections_per_check=200, outliers=0.0)
    for stream in data.streams[:-1]:
        for name in CONTINUOUS[:20]:
            stream.payload[name][400:450] += 3000  # of the third interval
    by_program, by_oracle = answers(data)
    assert by_program == by_oracle
    assert (
        max(n for kind, n in zip(by_program[1], by_program[3], strict=True) if kind)
        > MAX_CANDIDATES
    )


def test_history_is_counted_once_however_often_the_state_is_forked():
    data = small(streams=4)
    expected = [column.tolist() for column in answer_of(PROGRAM, data).values()]
    for workers in (2, 4):
        request = PlanRequest(
            program=PROGRAM, alphabet=data.alphabet, streams=profile(data), workers=workers
        )
        plan = choose("by-stream", request).plan
        answer = run_plan(plan, data, random.Random(workers))
        assert [column.tolist() for column in answer.values()] == expected


def test_planted_outliers_are_what_is_found():
    data = generated(OUTLIERS, {"connections_per_check": 2000}, 40_000, seed=3)
    answer = OUTLIERS.oracle(data)
    parts = [stream.payload for stream in data.streams[:-1]]
    row, label = (np.concatenate([part[name] for part in parts]) for name in ("row", "label"))
    found = quality(
        ("normal", "planted"),
        row,
        label.astype(np.int64),
        answer["connection"][answer["kind"] == OUTLIER],
    )
    assert found.connections[PLANTED] == (label == PLANTED).sum()
    assert found.precision > 0.8
    assert found.recall > 0.5  # the first two intervals are not judged


def test_precision_and_recall_are_shares_of_the_found_and_of_those_not_normal():
    row = np.array([10, 11, 12, 13, 14])
    label = np.array([0, 1, 1, 2, 0])
    found = quality(("normal", "smurf", "spy"), row, label, np.array([10, 12, 13]))
    assert found.connections.tolist() == [2, 2, 1]
    assert found.outliers.tolist() == [1, 1, 1]
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.lines()[1] == "normal: 1 of 2 found"


def test_all_continuous_features_are_read_in_their_order():
    class Event:
        pass

    event = Event()
    for number, name in enumerate(CONTINUOUS):
        setattr(event, name, number)
    x = [-1] * len(CONTINUOUS)
    read_features(event, x)
    assert x == list(range(34))
    assert len(COLUMNS) == 41


@given(st.integers(0, 2**40))
def test_the_logarithmic_scale_ascends_and_is_exact_at_powers_of_two(value: int):
    assert scaled(value) <= scaled(value + 1)
    assert scaled(2 ** (value % 50) - 1) == 128 * (value % 50)
