"""Generated input of forward, scale_join and nyse_hedge."""

import numpy as np
import pytest

from streamlab.workloads.model import Columns
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.nyse_hedge.generate import DAY_MS, OPENING_MS
from tests.workloads.suite.streams import generated

PARAMS: dict[str, dict[str, object]] = {
    "forward": {"rate_eps": 700, "streams": 3},
    "scale_join": {"left_eps": 700, "right_eps": 300, "streams": 3, "rates": "step(400, 2000)"},
    "nyse_hedge": {"seconds": 20, "mean_eps": 10, "peak_eps": 50},
}


def rows(name: str, seed: int, stream: int, begin: int, end: int, **more: object) -> Columns:
    chosen = workload(name)
    params = chosen.params(PARAMS[name] | more)
    return chosen.generate(params, seed, chosen.streams(params, 2 * end), stream, begin, end)


def test_the_sides_of_scale_join_have_their_rates_and_change_together():
    data = generated(workload("scale_join"), PARAMS["scale_join"], 2400, seed=1)
    for kind, rate in ((0, 700), (1, 300)):
        ts = np.concatenate([stream.ts for stream in data.streams if stream.kinds == (kind,)])
        assert abs(np.count_nonzero(ts < 400) - 0.4 * rate) <= 1
        assert abs(np.count_nonzero((ts >= 400) & (ts < 1200)) - 1.6 * rate) <= 2


@pytest.mark.parametrize("bits", [0, 10])
def test_values_of_scale_join_are_uniform_and_differ_exactly_in_single_precision(bits: int):
    left = rows("scale_join", 1, 0, 0, 100_000, fraction_bits=bits)
    right = rows("scale_join", 1, 3, 0, 100_000, fraction_bits=bits)
    for values in (left["x"], left["y"], right["a"], right["b"]):
        numbers = values.astype(np.float64)
        assert 1 <= numbers.min() < 5
        assert 9996 < numbers.max() <= 10_000
        # A uniform mean of 100,000 deviates by 9; five times that is left.
        assert abs(numbers.mean() - 5000.5) < 46
    y, b = left["y"].astype(np.float32), right["b"].astype(np.float32)
    assert np.array_equal((y - b).astype(np.float64), y.astype(np.float64) - b.astype(np.float64))
    assert np.any(y % 1 != 0) == bool(bits)
    assert set(right["d"].tolist()) == {0, 1}


def test_about_one_pair_of_227_000_matches_as_in_the_benchmark():
    chosen = workload("scale_join").bound({"ws_ms": 10_000})
    data = generated(chosen, {"left_eps": 5000, "right_eps": 5000}, 100_000, seed=3)
    matches = len(chosen.oracle(data)["ts"])
    # All pairs of 50,000 x 50,000 are within 10 s of each other; one deviation is a hundredth.
    expected = 50_000**2 * (21 / 10_000) ** 2
    assert abs(matches / expected - 1) < 0.05


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(5))
def test_a_trading_day_has_its_trades_one_peak_bursts_and_quiet_seconds(seed: int):
    day = rows("nyse_hedge", seed, 0, 0, 2_160_001, seconds=21_600, mean_eps=100, peak_eps=7600)
    ts = day["ts"].astype(np.int64)
    assert np.all(np.diff(ts) >= 0)
    assert ts[0] >= OPENING_MS
    assert ts[-2] < OPENING_MS + 21_600_000
    assert ts[-1] >= OPENING_MS + DAY_MS, "the next trade is of the next day"
    of_second = np.bincount((ts[:-1] - OPENING_MS) // 1000, minlength=21_600)
    assert of_second.max() == 7600
    assert np.count_nonzero(of_second > 7600 * 7 // 8) == 1
    assert 21_600 / 4 <= of_second.argmax() < 21_600 * 3 / 4
    assert np.count_nonzero(of_second == 0) > 21_600 / 32
    assert np.count_nonzero(of_second > 800) > 50
    hours = of_second.reshape(6, -1).mean(axis=1)
    assert hours[0] > hours[1:].max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("seconds", "mean", "peak"), [(16, 1900, 7600), (100, 10, 250), (20, 9, 36)]
)
def test_a_short_day_has_a_peak_as_well(seed: int, seconds: int, mean: int, peak: int):
    day = rows(
        "nyse_hedge", seed, 1, 0, seconds * mean, seconds=seconds, mean_eps=mean, peak_eps=peak
    )
    of_second = np.bincount((day["ts"].astype(np.int64) - OPENING_MS) // 1000)
    assert len(of_second) <= seconds
    assert of_second.max() == peak


def test_both_sides_of_the_self_join_are_the_same_stream():
    left, right = (rows("nyse_hedge", 7, side, 0, 2000) for side in range(2))
    assert all(left[name].tolist() == right[name].tolist() for name in left)


def test_prices_stay_at_their_distance_from_the_average_and_some_are_on_the_other_side():
    day = rows("nyse_hedge", 7, 0, 0, 200_000, seconds=21_600, mean_eps=100, peak_eps=7600)
    id_, price, average = (day[name].astype(np.int64) for name in ("id", "price", "average"))
    assert set(id_.tolist()) == set(range(10))
    assert all(len(set(average[id_ == company].tolist())) == 1 for company in range(10))
    distance = (price - average) / average
    # Prices are whole cents of at least 40.00: rounding moves a distance by 0.000125.
    assert np.all((np.abs(distance) > 0.01 * 7 / 16 - 2e-4) & (np.abs(distance) < 0.0208))
    minority = min(np.mean(distance > 0), np.mean(distance < 0))
    assert abs(minority - 0.002) < 0.0005
