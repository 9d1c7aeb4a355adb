import json
import os

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from engines.protocol import Progress
from engines.small_dataset import write_dataset
from lab.isolate.errors import DiskFullError
from lab.isolate.process import Outcome
from lab.load.spec import LoadSpec
from lab.measure.energy.estimate import Estimate
from lab.measure.hdr import LATENCY, WARM_UP, read_log
from lab.measure.series import STEP_NS
from lab.parent.spawn import classify, run_trial
from lab.trial.process import run_trial as run_trial_here
from lab.trial.spec import (
    CeilingJob,
    EngineTrial,
    OracleJob,
    read_job,
    workload_of,
    write_job,
)
from lab.trial.verdict import rates, steadiness
from results.schema import NAMES, VERIFIED
from tests.workloads.suite.streams import generated
from workloads.datasets.oracle_cache import expected_rows
from workloads.model import Tag
from workloads.registry import names, workload

TIMEOUT_S = 60


def has_order(of):
    """Return whether some outputs must come before others; what typed graphs give may be a bag."""
    return of.output.sorted or of.output.depends(Tag(0), Tag(0))


SPECIFIED = ("load", "planted_slowdown", "estimate", "workers")


@pytest.fixture
def specify(tmp_path, small_dataset):
    """A function that specifies a trial of the fake engine on a small dataset."""

    def make(variant, *, workload="event_window", engine="fake", events=None, **given):
        fields = {"workers": 1}
        fields |= {name: given.pop(name) for name in list(given) if name in SPECIFIED}
        return EngineTrial(
            engine=engine,
            variant=variant,
            batch=1,
            options=given,
            dataset=small_dataset(workload, events=events),
            series=tmp_path / "series.parquet",
            histograms=tmp_path / "trial.hlog",
            outputs=tmp_path / "outputs.parquet",
            **fields,
        )

    return make


@pytest.fixture
def trial(tmp_path, specify):
    """Runs one trial of the fake engine in a real process; returns the columns that it gives."""

    def run(variant, *, timeout_s=TIMEOUT_S, **given):
        spec = specify(variant, **given)
        return run_trial(spec, log=tmp_path / "trial.log", timeout_s=timeout_s).result

    return run


@pytest.fixture
def trial_here(specify):
    """Does in this process what a trial's process does: for what needs no process of its own."""

    def run(variant, **given):
        result = {}
        run_trial_here(specify(variant, **given), result)
        return result

    return run


def test_an_expected_answer_that_is_empty_is_said_to_have_compared_nothing(trial_here):
    row = trial_here("correct", events=20)  # values without a barrier
    assert (row["status"], row["expected_outputs"]) == ("ok", 0)
    assert "the expected answer is empty, so that nothing was compared" in row["reason"]


@pytest.mark.parametrize("workload", names())
def test_right_answer_is_ok_and_has_a_rate(trial_here, workload):
    row = trial_here("correct", workload=workload, rate_eps=10_000)
    assert row["status"] == "ok"
    assert row["reason"] is None
    assert row["throughput_eps"] == pytest.approx(10_000, rel=0.2)
    assert row["throughput_eps"] == row["events"] / row["duration_s"]
    assert row["outputs"] == row["expected_outputs"] > 0


def test_trial_in_a_process_of_its_own_measures_that_process(trial):
    row = trial("correct", rate_eps=10_000)
    assert (row["status"], row["reason"]) == ("ok", None)
    assert row["peak_rss_bytes"] > 10_000_000
    assert 0 <= row["cpu_s"] < row["duration_s"] + 1
    assert row["startup_s"] > 0 and row["prepare_s"] > 0


def test_workers_that_a_plan_by_cost_does_without_are_said(trial_here):
    row = trial_here("dgs", engine="multicore", workers=64, optimizer="cost")
    assert row["status"] == "ok", row["reason"]
    used = json.loads(row["counters"])["workers_used"]
    assert 1 <= used <= 2  # as many as there are streams of values
    assert "of 64 workers, and only these run" in row["reason"]
    assert f"it uses {used:.0f} of 64 workers" in row["plan"]


@pytest.mark.parametrize("variant", ["vsn", "adhoc", "1t"])
def test_comparisons_of_a_join_are_a_column(trial_here, variant):
    row = trial_here(variant, workload="scale_join", engine="multicore")
    assert row["status"] in VERIFIED, row["reason"]
    assert row["comparisons"] == json.loads(row["counters"])["comparisons"] > 0


@pytest.mark.parametrize("workload", names())
@pytest.mark.parametrize(
    ("variant", "column", "count"),
    [("lose", "missing", 1), ("duplicate", "duplicate", 1), ("corrupt", "wrong", 1)],
)
def test_one_damaged_output_is_noticed_and_voids_the_number(
    trial_here, workload, variant, column, count
):
    row = trial_here(variant, workload=workload, rate_eps=1_000_000)
    assert row["status"] == "wrong_output"
    assert row[column] == count
    assert row.get("throughput_eps") is None and row.get("outputs_eps") is None
    assert column in row["difference"]


@pytest.mark.parametrize("workload", [name for name in names() if has_order(workload(name))])
def test_two_swapped_dependent_outputs_are_noticed(trial_here, workload):
    row = trial_here("reorder", workload=workload)
    assert row["status"] == "wrong_output"
    assert row["out_of_order"] >= 1
    assert (row["missing"], row["duplicate"], row["wrong"]) == (0, 0, 0)


@pytest.mark.parametrize("variant", ["lose", "reorder"])
def test_damage_is_noticed_in_a_process_of_its_own(trial, variant):
    row = trial(variant)
    assert row["status"] == "wrong_output"
    assert row["throughput_eps"] is None and row["outputs_eps"] is None


def test_event_that_is_not_accounted_for_makes_the_trial_invalid(trial):
    row = trial("miscount")
    assert row["status"] == "invalid"
    assert "the engine counted 3" in row["reason"]
    assert row["throughput_eps"] is None


def test_an_answer_that_is_right_by_chance_has_no_number(trial_here):
    row = trial_here("dataflow", workload="ad_enrichment", engine="multicore", soundness="none")
    assert row["status"] == "invalid"
    assert row["reason"].startswith("right by chance: soundness = none leaves out")
    assert row.get("throughput_eps") is None and row.get("outputs_eps") is None


def test_error_in_the_engine_is_a_crash_with_its_words(trial, tmp_path):
    row = trial("crash")
    assert row["status"] == "crash"
    assert row["reason"] == "EngineCrashError: the fake engine crashed, as it was told to"
    assert "Traceback" in (tmp_path / "trial.log").read_text()


def test_what_no_column_can_hold_is_told_and_the_trial_is_no_measurement(trial):
    row = trial("overcount")
    assert row["status"] == "invalid"
    assert row["events"] is None and row["throughput_eps"] is None
    assert f"events is {2**70}, which is no int64" in row["reason"]
    assert "counter seen is nan, no number: it is left out" in row["reason"]
    assert json.loads(row["counters"]) == {"lost": 1.0}


def test_disk_that_is_really_full_is_no_answer_of_the_engine(trial, monkeypatch):
    monkeypatch.setattr("lab.parent.spawn.LEAST_FREE_BYTES", 2**63)
    with pytest.raises(DiskFullError, match=r"the disk of .* has .* KiB left: .*No space left on"):
        trial("crash", says="No space left on device")
    assert trial("crash")["status"] == "crash"


def test_lab_that_finds_no_space_for_its_own_files_records_nothing(trial, tmp_path):
    # Every write to /dev/full fails for lack of space, whatever the disks have.
    (tmp_path / "outputs.parquet.partial").symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=r"\[Errno 28\].*No space left on device"):
        trial("correct")


def test_killed_process_is_a_crash_that_names_signal_and_phase(trial):
    row = trial("die")
    assert row["status"] == "crash"
    assert "was killed by SIGKILL in phase run" in row["reason"]
    assert row["returncode"] == -9


def test_lack_of_memory_is_oom(trial):
    row = trial("exhaust")
    assert row["status"] == "oom"
    assert row["reason"].startswith("MemoryError: Unable to allocate 1.00 EiB")


def test_refused_task_is_unsupported_with_the_engines_reason(trial):
    row = trial("correct", refuse="no windows here")
    assert (row["status"], row["reason"]) == ("unsupported", "no windows here")


def test_hanging_engine_is_stopped_with_all_its_processes(trial):
    row = trial("hang", timeout_s=5)
    assert row["status"] == "timeout"
    assert row["reason"] == "stopped after 5 s in phase run; raise timeout_s"
    assert sleepers() == []


def test_process_and_thread_left_by_an_engine_are_reported_and_killed(trial):
    row = trial("leak")
    assert row["status"] == "ok"
    assert "the engine left processes" in row["reason"]
    assert "the engine left threads: fake-leak" in row["reason"]
    assert "left processes behind" in row["reason"]
    assert sleepers() == []


def test_rate_of_a_very_short_run_is_called_doubtful():
    result = {"duration_s": 0.0009, "events": 9, "outputs": 1}
    (doubt,) = rates(result, offered=False)
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


def test_catch_up_run_that_slows_down_is_told_as_unsteady():
    found = steadiness(counted([1_000] * 30 + [500] * 10), 40 * STEP_NS)
    assert found["steady"] == "unsteady" and found["steady_reason"]
    assert steadiness(counted([1_000, 1_001] * 20), 40 * STEP_NS)["steady"] == "steady"


def test_catch_up_run_that_is_short_or_uncounted_has_no_verdict_on_its_steadiness():
    assert steadiness(counted([1_000] * 19), 19 * STEP_NS) == {}
    assert steadiness(None, 60 * STEP_NS) == {}


def test_no_catch_up_rate_exists_under_an_offered_load():
    result = {"duration_s": 0.0009, "events": 9, "outputs": 1}
    assert rates(result, offered=True) == []
    assert "throughput_eps" not in result and result["outputs_eps"] == pytest.approx(1111, rel=0.01)


def test_answer_and_series_are_kept(trial, tmp_path):
    row = trial("correct", rate_eps=10_000)
    outputs = pq.read_table(tmp_path / "outputs.parquet")
    assert outputs.column_names == ["ts", "sum"]
    assert outputs.num_rows == row["outputs"]
    series = pq.read_table(tmp_path / "series.parquet").to_pydict()
    assert sum(series["timed"]) >= 3
    assert max(rss for rss in series["rss_bytes"] if rss) <= row["peak_rss_bytes"]


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
    assert row["planted_slowdown"] == 0.0
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


def test_wrong_answer_outranks_what_became_of_the_load(trial_here):
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
"""Seconds each: `make test` takes one workload of each programming model."""


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
    histograms = read_log(tmp_path / "trial.hlog")
    counted = sum(int(histograms[tag].counts.sum()) for tag in (LATENCY, WARM_UP))
    assert counted == row["outputs"]
    assert row["latency_count"] == histograms[LATENCY].counts.sum()


def test_stall_shows_in_the_latency_of_all_events_due_meanwhile(trial_here):
    load = offered(rate_eps=1_000.0, window_s=2.0)
    row = trial_here("correct", load=load, capacity_eps=100_000, stall_at_s=1.0, stall_s=0.4)
    assert row["latency_max_ns"] > 300_000_000
    assert row["service_p99_ns"] is None or row["service_p99_ns"] < 1_000_000


def test_planted_slowdown_is_in_the_time_and_in_the_cpu_time(trial):
    row = trial("correct", rate_eps=10_000, planted_slowdown=0.5)
    assert row["planted_slowdown"] == 0.5
    assert row["duration_s"] > 1.45 * row["events"] / 10_000
    assert row["cpu_s"] > 0.1


def test_energy_that_cannot_be_read_is_null_with_the_reason_and_never_0(trial):
    row = trial("correct")
    assert (row["energy_source"], row["energy_reason"]) == ("none", "switched off")
    assert row["energy_gross_j"] is None and row["power_w"] is None
    assert row["estimate_j"] is None


def test_estimate_has_columns_of_its_own(trial_here):
    row = trial_here("correct", estimate=Estimate(watts_per_core=10.0, source="test"))
    assert row["estimate_j"] == pytest.approx(10 * row["cpu_s"])
    assert json.loads(row["estimate_parameters"])["source"] == "test"
    assert row["energy_gross_j"] is None


def test_ceiling_of_a_generator_is_measured_without_running_anything(tmp_path):
    job = CeilingJob(engine="fake", variant="crash", batch=1)
    result = run_trial(job, log=tmp_path / "c.log", timeout_s=TIMEOUT_S).result
    assert result["generator_ceiling_eps"] is None and result.get("status") is None


def test_second_attempt_is_counted_in_the_log(tmp_path, small_dataset):
    spec = EngineTrial(
        engine="fake",
        variant="correct",
        workers=1,
        batch=1,
        options={"refuse": "not now"},
        dataset=small_dataset(),
    )
    attempts = [
        run_trial(spec, log=tmp_path / "a.log", timeout_s=TIMEOUT_S).attempt for _ in range(2)
    ]
    assert attempts == [1, 2]


def test_unknown_engine_is_a_crash_that_names_those_that_exist(trial):
    row = trial("x", engine="nosuch")
    assert row["status"] == "crash"
    assert "no engine 'nosuch'; `lab list engines`" in row["reason"]


def test_a_job_survives_its_json(tmp_path, small_dataset):
    trial = EngineTrial(
        engine="e",
        variant="v",
        workers=3,
        batch=7,
        options={"pin": True},
        dataset=small_dataset("page_view_join"),
        spawned_ns=12,
        series=tmp_path / "s",
        load=offered(arrival="bursts", params={"on_s": 1.0, "off_s": 0.5}),
        estimate=Estimate(watts_per_core=3.0, source="test"),
    )
    oracle = OracleJob(dataset=small_dataset(), query={"k": 3})
    for job in (trial, oracle, CeilingJob(engine="e", variant="v", batch=7)):
        write_job(job, tmp_path / "job.json")
        assert read_job(tmp_path / "job.json") == job


def test_an_oracles_job_leaves_its_answer_where_trials_find_it(tmp_path, small_dataset):
    dataset = small_dataset()
    job = OracleJob(dataset=dataset)
    result = run_trial(job, log=tmp_path / "o.log", timeout_s=TIMEOUT_S).result
    assert result.get("status") is None
    assert expected_rows(workload_of(job), dataset) is not None


def outcome(**more):
    return Outcome(**{"returncode": 0, "timed_out": False, "oom_kills": 0, "left": (), **more})


def test_crash_while_the_kernel_killed_for_memory_is_oom():
    row = classify(outcome(returncode=-9, oom_kills=1), None, "# phase: run\n", timeout_s=1)
    assert row["status"] == "oom"


def test_another_process_that_the_kernel_killed_for_memory_does_not_blame_the_trial():
    row = classify(outcome(returncode=1, oom_kills=1), None, "# phase: run\n", timeout_s=1)
    assert row["status"] == "crash"
    result = {"status": "crash", "reason": "ValueError: no"}
    assert classify(outcome(oom_kills=1), result, "", timeout_s=1)["status"] == "crash"


def test_trial_whose_child_the_kernel_killed_for_memory_is_oom():
    result = {"status": "crash", "reason": "EngineCrashError: a worker was killed by SIGKILL"}
    assert classify(outcome(oom_kills=1), result, "", timeout_s=1)["status"] == "oom"


def test_crash_of_a_java_engine_without_memory_is_oom():
    result = {"status": "crash", "reason": "EngineCrashError: java.lang.OutOfMemoryError: heap"}
    assert classify(outcome(), result, "", timeout_s=1)["status"] == "oom"


def test_crash_without_a_result_shows_the_last_lines_of_the_log():
    log = "# attempt 1\n# phase: prepare\n" + "".join(f"line {i}\n" for i in range(9))
    row = classify(outcome(returncode=3), None, log, timeout_s=1)
    assert row["reason"] == (
        "the process ended with code 3 in phase prepare: line 4 | line 5 | line 6 | line 7 | line 8"
    )


def test_rates_of_a_trial_that_timed_out_after_its_run_are_void():
    result = {"status": "ok", "reason": None, "throughput_eps": 5.0, "outputs_eps": 1.0}
    row = classify(outcome(timed_out=True), result, "# phase: verify\n", timeout_s=1)
    assert (row["status"], row["throughput_eps"], row["outputs_eps"]) == ("timeout", None, None)


def test_memory_for_the_answer_is_there_before_the_clock_and_what_was_not_is_counted(tmp_path):
    asked = workload("page_view_join")
    defaults = {name: one.default for name, one in asked.parameters.items()}
    dataset = write_dataset(generated(asked, defaults, 300_000, 1), asked.name, tmp_path / "data")
    spec = EngineTrial(
        engine="multicore",
        variant="dgs",
        workers=1,
        batch=4096,
        options={},
        dataset=dataset,
    )
    grown = []
    for _ in range(2):  # the first verifies, and so leaves the oracle's answer
        row = run_trial(spec, log=tmp_path / "trial.log", timeout_s=TIMEOUT_S).result
        assert row["status"] == "ok"
        assert row["user_s"] + row["system_s"] == pytest.approx(row["cpu_s"])
        assert row["minor_faults"] >= 0 and row["major_faults"] >= 0
        grown.append(json.loads(row["counters"])["outputs_grown"])
    assert grown[0] > 0
    assert grown[1] == 0


def sleepers():
    """Command lines of the fake engine's children that are still alive, of this test process.

    Another one may be at a test with such children of its own just now.
    """
    found, worker = [], os.environ.get("PYTEST_XDIST_WORKER")
    for process in psutil.process_iter(["cmdline", "status", "environ"]):
        line, variables = process.info["cmdline"] or [], process.info["environ"] or {}
        if line[-1:] != ["import time; time.sleep(600)"] or process.info["status"] == "zombie":
            continue
        if variables.get("PYTEST_XDIST_WORKER") == worker:
            found.append(json.dumps(line))
    return found
