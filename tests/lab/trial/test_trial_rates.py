"""Rates, offered loads, slow-downs and estimates of trials, and what makes them void."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engines.protocol import Progress
from streamlab.lab.judge.verdict import set_rates, steadiness
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.measure.hdr import LATENCY, WARM_UP, read_log
from streamlab.lab.measure.series import STEP_NS
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import CeilingJob
from streamlab.results.schema import NAMES, VERIFIED
from streamlab.workloads.registry import names, workload
from tests.lab.trial.conftest import TIMEOUT_S


def test_rate_of_a_very_short_run_is_called_doubtful():
    result = {"duration_s": 0.0009, "events": 9, "outputs": 1}
    (doubt,) = set_rates(result, offered=False)
    assert "doubtful rate" in doubt and "use more events" in doubt
    assert result["throughput_eps"] == pytest.approx(10_000)


def counted(per_row):
    values = np.array(per_row, dtype=np.int64)
    return Progress(
        step_ns=STEP_NS,
        emitted=values,
        consumed=values,
        outputs=values,
        latency_p50_ns=values,
        latency_p99_ns=values,
        latency_max_ns=values,
    )


def test_catch_up_run_that_slows_down_is_unsteady():
    found = steadiness(counted([1_000] * 30 + [500] * 10), 40 * STEP_NS)
    assert found["steady"] == "unsteady" and found["steady_reason"]
    assert steadiness(counted([1_000, 1_001] * 20), 40 * STEP_NS)["steady"] == "steady"


def test_catch_up_run_that_is_short_or_uncounted_has_no_verdict_on_its_steadiness():
    assert steadiness(counted([1_000] * 19), 19 * STEP_NS) == {}
    assert steadiness(None, 60 * STEP_NS) == {}


def test_no_catch_up_rate_exists_under_an_offered_load():
    result = {"duration_s": 0.0009, "events": 9, "outputs": 1}
    assert set_rates(result, offered=True) == []
    assert "throughput_eps" not in result and result["outputs_eps"] == pytest.approx(1111, rel=0.01)


def offered(rate_eps=1_000.0, window_s=2.0, warm_up_s=0.5, **more):
    return LoadSpec(rate_eps=rate_eps, warm_up_s=warm_up_s, window_s=window_s, **more)


def test_rate_below_the_capacity_is_sustained_and_has_every_column_of_the_load(trial_here):
    row = trial_here("correct", load=offered(), capacity_eps=2_000)
    assert (row["status"], row["sustained"]) == ("ok", True)
    assert row["events"] == pytest.approx(2_500, abs=5)
    assert row["offered_eps"] == pytest.approx(1_000, rel=0.01)
    assert row["emitted_share"] == 1.0
    assert row["emitted_eps"] == row["offered_eps"]
    assert row["steady"] == "steady"
    assert row["latency_p50_ns"] == pytest.approx(500_000, rel=0.01)
    assert row["service_p50_ns"] == pytest.approx(500_000, rel=0.01)
    assert row.get("throughput_eps") is None and row["outputs_eps"] > 0
    written = {"latency_p999_ns", "service_max_ns", "backlog_slope_eps", "backlog_max", "drain_s"}
    assert written <= set(row) <= NAMES


def test_rate_above_the_capacity_is_unsustained_and_keeps_its_numbers(trial_here):
    row = trial_here("correct", load=offered(), capacity_eps=800)
    assert (row["status"], row["sustained"]) == ("unsustained", False)
    assert "backlog grows by 200" in row["reason"]
    assert row["latency_p50_ns"] > 100_000_000


def test_generator_that_lags_makes_the_trial_invalid_and_not_unsustained(trial_here):
    row = trial_here("correct", load=offered(), capacity_eps=800, generator_lag_s=0.005)
    assert (row["status"], row["sustained"]) == ("invalid", None)
    assert "send lag p99 5" in row["reason"]
    assert row["send_lag_p99_ns"] == pytest.approx(5_000_000, rel=0.01)


def test_a_wrong_answer_outranks_an_unsustained_load(trial_here):
    row = trial_here("lose", load=offered(), capacity_eps=800)
    assert row["status"] == "wrong_output"
    assert "sustained" not in row


def test_load_for_which_the_input_is_too_short_is_invalid_with_the_remedy(trial, tmp_path):
    row = trial("correct", load=offered(rate_eps=1e6))
    assert row["status"] == "invalid"
    assert "use more `events`, a rate_eps of at most" in row["reason"]
    assert row.get("offered_eps") is None
    assert not (tmp_path / "series.parquet").exists()


def test_objective_that_does_not_hold_makes_a_rate_unsustained(trial_here):
    row = trial_here("correct", load=offered(objective="p50 <= 100us"), capacity_eps=2_000)
    assert row["status"] == "unsustained"
    assert "objective" in row["reason"]


FIRST_OF_MODEL = {type(workload(name).program): name for name in reversed(names())}
IN_REAL_TIME = [
    pytest.param(name, marks=() if name in FIRST_OF_MODEL.values() else pytest.mark.full)
    for name in names()
]
"""Seconds each: `make test` takes one, which is a programming model's first."""


@pytest.mark.some(1)
@pytest.mark.parametrize("workload", IN_REAL_TIME)
def test_reference_engine_keeps_a_low_rate_in_real_time(trial, workload, tmp_path):
    load = offered(rate_eps=400.0, window_s=1.0, warm_up_s=0.3, arrival="poisson")
    row = trial("sequential", engine="reference", workload=workload, load=load)
    # On a machine that is busy with other things it may be late, never early or wrong.
    assert row["status"] in VERIFIED, row["reason"]
    assert row["duration_s"] > 0.8
    series = pq.read_table(tmp_path / "series.parquet").to_pydict()
    # Preparing may be over before the first sample; measure/test_series.py has all phases.
    assert set(series["phase"]) >= {"warm_up", "window"}
    assert sum(n or 0 for n in series["consumed"]) == row["events"]
    histograms = read_log((tmp_path / "trial.hlog").read_bytes())
    counted = sum(int(histograms[tag].counts.sum()) for tag in (LATENCY, WARM_UP))
    assert counted == row["outputs"]
    assert row["latency_count"] == histograms[LATENCY].counts.sum()


def test_stall_shows_in_the_latency_of_all_events_due_meanwhile(trial_here):
    load = offered(rate_eps=1_000.0, window_s=2.0)
    row = trial_here("correct", load=load, capacity_eps=100_000, stall_at_s=1.0, stall_s=0.4)
    assert row["latency_max_ns"] > 300_000_000
    assert row["service_p99_ns"] is None or row["service_p99_ns"] < 1_000_000


def test_planted_slowdown_is_in_the_time_and_in_the_cpu_time(trial):
    row = trial("correct", capacity_eps=10_000, planted_slowdown=0.5)
    assert row["duration_s"] > 1.45 * row["events"] / 10_000
    assert row["cpu_s"] > 0.1


def test_ceiling_of_a_generator_is_measured_without_running_anything(tmp_path):
    job = CeilingJob(engine="fake", variant="crash", batch=1)
    result = run_trial(job, log=tmp_path / "c.log", timeout_s=TIMEOUT_S).columns
    assert result["generator_ceiling_eps"] is None and result.get("status") is None
