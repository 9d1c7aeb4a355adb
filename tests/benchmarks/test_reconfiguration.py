"""The benchmark of reconfigurations, small: it counts real switches, and checks the answer."""

from dataclasses import replace

import msgspec
import pytest

from benchmarks.reconfiguration import TooFewError, switch_times_ns
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import generated

SPEC = LoadSpec(rate_eps=20_000.0, warm_up_s=0.05, window_s=0.5)
ROUNDS = 4


@pytest.fixture
def given(tmp_path):
    subject = workload("scale_join").bound({"ws_ms": 500})
    # Few values, so that many pairs match and a lost tuple is seen in the answer.
    data = generated(subject, {"highest": 400}, 15_000, 1)
    return subject, write_dataset(data, subject.name, tmp_path)


@pytest.mark.some(1)
@pytest.mark.parametrize("after", [2, 5])
def test_each_direction_has_a_time_for_each_change(given, after):
    taken = switch_times_ns(*given, SPEC, 1, after, ROUNDS)
    assert set(taken) == {(1, after), (after, 1)}
    assert all(len(times) == ROUNDS and min(times) > 0 for times in taken.values())


def test_an_input_that_ends_too_early_is_no_measurement(given):
    short = msgspec.structs.replace(SPEC, window_s=0.1)
    with pytest.raises(TooFewError, match=r"of 1000 changes 1 -> 2 in 0.1 s; raise --length"):
        switch_times_ns(*given, short, 1, 2, 1000)


def test_a_wrong_answer_is_no_measurement(given):
    found, dataset = given
    narrower = workload("scale_join").bound({"ws_ms": 100})
    with pytest.raises(ValueError, match="the answer is wrong: "):
        switch_times_ns(replace(found, program=narrower.program), dataset, SPEC, 1, 2, ROUNDS)
