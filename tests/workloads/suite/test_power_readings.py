import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.inputs.power_readings.schema import (
    FIELDS,
    PLUGS_PER_UNIT,
    UNITS_PER_BUILDING,
)
from streamlab.workloads.model import Columns, Input, ModelError
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import generated

SUBJECT = workload("sensor_interpolation")
MILLION = 1_000_000


@pytest.fixture(scope="module")
def million() -> Input:
    return generated(SUBJECT, {}, MILLION, seed=1)


def columns_of(data: Input) -> Columns:
    names = FIELDS.names or ()
    return {
        "ts": np.concatenate([stream.ts for stream in data.streams]),
        **{name: np.concatenate([s.payload[name] for s in data.streams]) for name in names},
    }


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


@given(
    begin=st.integers(0, 900),
    length=st.integers(0, 300),
    streams=st.integers(1, 5),
    gaps=st.sampled_from([0.0, 0.02, 0.9]),
    seed=st.integers(0, 2**64),
)
@settings(deadline=None)
def test_any_range_of_rows_can_be_made_alone(
    begin: int, length: int, streams: int, gaps: float, seed: int
):
    params = SUBJECT.params({"plugs": 7, "streams": streams, "gaps": gaps, "gap_s": 5})
    specs = SUBJECT.streams(params, 6001)
    assert sum(spec.events for spec in specs) == 6001
    for index in range(streams):
        whole = SUBJECT.generate(params, seed, specs, index, 0, 1200)
        part = SUBJECT.generate(params, seed, specs, index, begin, begin + length)
        assert list(part) == ["ts", *(FIELDS.names or ())]
        assert np.all(np.diff(whole["ts"]) >= 0)
        for name, values in part.items():
            assert values.dtype == (np.int64 if name == "ts" else FIELDS[name])
            assert values.tolist() == whole[name][begin : begin + length].tolist()


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


def test_more_streams_than_plugs_are_refused():
    with pytest.raises(ModelError, match="3 streams for 2 plugs"):
        SUBJECT.streams(SUBJECT.params({"plugs": 2, "streams": 3}), 1000)


def test_known_readings_stay_what_they_are():
    """The generator's version must be raised when this changes: catalogues rely on it."""
    params = SUBJECT.params({})
    specs = SUBJECT.streams(params, 100_000)
    made = SUBJECT.generate(params, 42, specs, 1, 10_000, 10_003)
    assert {name: values.tolist() for name, values in made.items()} == KNOWN


KNOWN = {
    "ts": [40, 40, 40],
    "plug": [941, 943, 945],
    "device": [1, 3, 5],
    "unit": [235, 235, 236],
    "building": [58, 58, 59],
    "watts": [1, 0, 1],
}
