import numpy as np
import pytest

from streamlab.workloads.inputs.power_readings.schema import (
    PLUGS_PER_UNIT,
    UNITS_PER_BUILDING,
)
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import columns_of, generated

SUBJECT = workload("sensor_interpolation")
MILLION = 1_000_000


@pytest.fixture(scope="module")
def million() -> Input:
    return generated(SUBJECT, {}, MILLION, seed=1)


def by_plug(data: Input) -> Columns:
    found = columns_of(data)
    order = np.lexsort((found["ts"], found["plug"]))
    return {name: column[order] for name, column in found.items()}


def test_a_plug_reads_about_every_2_s_with_ties_and_gaps(million: Input):
    found = by_plug(million)
    same = np.diff(found["plug"]) == 0
    between = np.diff(found["ts"])[same]
    assert million.events == MILLION
    assert len(np.unique(found["plug"])) == 1000
    assert between.mean() == pytest.approx(2.0, abs=0.01)
    shares = [float(np.mean(between == seconds)) for seconds in range(5)]
    assert shares[1] > 0.15 and shares[2] > 0.3 and shares[3] > 0.15
    assert 0.01 < shares[0] < 0.1
    # A plug is silent for 2 % of its time, mostly for 30 s.
    assert 0.015 < between[between > 10].sum() / between.sum() < 0.03
    assert between.max() > 60


def test_a_plug_has_one_place_and_one_type_of_device(million: Input):
    found = columns_of(million)
    assert np.array_equal(found["unit"], found["plug"] // PLUGS_PER_UNIT)
    assert np.array_equal(found["building"], found["unit"] // UNITS_PER_BUILDING)
    assert np.array_equal(found["device"], found["plug"] % 20)
    for index, stream in enumerate(million.streams):
        assert set(np.unique(stream.payload["plug"] % 2).tolist()) == {index}


def test_devices_are_on_for_a_while_and_off_for_a_while(million: Input):
    found = by_plug(million)
    assert found["watts"].min() == 0 and 500 < found["watts"].max() <= 2860
    on = found["watts"] > 2
    assert 0.08 < on.mean() < 0.2  # at night, when the input begins
    same = np.diff(found["plug"]) == 0
    switched = np.mean(on[1:][same] != on[:-1][same])
    assert 0 < switched < 0.002
    day = generated(SUBJECT, {"plugs": 20, "period_s": 60}, 20 * 1440, seed=1)
    hours = columns_of(day)["ts"] // 3600
    awake = columns_of(day)["watts"][hours >= 6] > 2
    assert 0.4 < awake.mean() < 0.6


def test_without_gaps_no_plug_waits_for_longer_than_two_periods():
    data = generated(SUBJECT, {"plugs": 10, "gaps": 0.0, "period_s": 5}, 2000, seed=3)
    found = by_plug(data)
    assert np.diff(found["ts"])[np.diff(found["plug"]) == 0].max() <= 10


@pytest.mark.parametrize(
    "params", [{"plugs": 1, "streams": 1, "gaps": 0.9}, {"plugs": 512, "streams": 512}]
)
def test_one_plug_a_stream_is_never_silent(params: dict[str, object]):
    data = generated(SUBJECT, params, 2048, seed=1)
    for stream in data.streams:
        assert len(np.unique(stream.payload["plug"])) == 1
        assert np.diff(stream.ts).tolist() == [2] * (len(stream) - 1)
