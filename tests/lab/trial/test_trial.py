"""Trials: what a row says of the answer, of what an engine does wrong, and of jobs."""

import json
import os
import subprocess
import tempfile

import psutil
import pyarrow.parquet as pq
import pytest

from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.errors import DiskFullError
from streamlab.lab.isolate.process import Outcome
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.runner.launcher import classify, run_trial
from streamlab.lab.trial.spec import (
    CeilingJob,
    EngineTrial,
    OracleJob,
    read_job,
    workload_of,
    write_job,
)
from streamlab.results.schema import VERIFIED
from streamlab.workloads.datasets.oracle_cache import expected_rows
from streamlab.workloads.model import Tag
from streamlab.workloads.registry import names, workload
from tests.lab.engine_trial import engine_trial
from tests.lab.trial.conftest import TIMEOUT_S
from tests.workloads.suite.streams import generated


def has_order(of):
    """Return whether some outputs must come before others; what graphs give for items is a bag."""
    return of.output.sorted or of.output.depends(Tag(0), Tag(0))


def test_a_trial_whose_expected_answer_is_empty_has_no_rate(trial_here):
    row = trial_here("correct", events=20)  # values without a barrier
    assert (row["status"], row["expected_outputs"]) == ("ok", 0)
    assert row.get("throughput_eps") is None and row.get("outputs_eps") is None
    expected = "the expected answer is empty, so nothing was compared: use more than 20 events"
    assert expected in row["reason"]


def test_a_rate_at_which_nothing_was_compared_is_not_called_sustained(trial_here):
    row = trial_here(
        "correct", events=20, load=LoadSpec(rate_eps=100.0, warm_up_s=0.05, window_s=0.1)
    )
    assert row["expected_outputs"] == 0 and row["sustained"] is None
    assert "the expected answer is empty" in row["sustained_reason"]


def test_an_empty_answer_of_a_graph_suggests_missing_markers(trial_here):
    row = trial_here("correct", workload="campaign_views", events=20)  # all in the last block
    assert (row["status"], row["expected_outputs"]) == ("ok", 0)
    assert "no event may be after the first marker" in row["reason"]


@pytest.mark.some(6)
@pytest.mark.parametrize("workload", names())
def test_right_answer_is_ok_and_has_a_rate(trial_here, workload):
    row = trial_here("correct", workload=workload, capacity_eps=10_000)
    assert row["status"] == "ok"
    assert row["reason"] is None
    assert 0 < row["throughput_eps"] <= 10_000 * 1.01  # it sleeps as long as that takes
    assert row["throughput_eps"] == row["events"] / row["duration_s"]
    assert row["outputs"] == row["expected_outputs"] > 0


def test_trial_in_a_process_of_its_own_measures_that_process(trial):
    row = trial("correct", capacity_eps=10_000)
    assert (row["status"], row["reason"]) == ("ok", None)
    assert row["peak_rss_bytes"] > 10_000_000
    assert 0 <= row["cpu_s"] < row["duration_s"] + 1
    assert row["startup_s"] > 0 and row["prepare_s"] > 0 and row["answer_s"] > 0
    assert row["prepare_cpu_s"] > 0 and row["answer_cpu_s"] >= 0


def test_workers_that_a_plan_by_cost_leaves_idle_are_reported(trial_here):
    row = trial_here("dgs", engine="multicore", workers=64, optimizer="cost")
    assert row["status"] == "ok", row["reason"]
    used = json.loads(row["counters"])["workers_used"]
    assert 1 <= used <= 2  # as many as there are streams of values
    assert "of 64 workers: the optimizer predicts" in row["reason"]
    assert f"it uses {used:.0f} of 64 workers" in row["plan"]


@pytest.mark.parametrize("variant", ["vsn", "adhoc", "1t"])
def test_comparisons_of_a_join_are_a_column(trial_here, variant):
    row = trial_here(variant, workload="scale_join", engine="multicore")
    assert row["status"] in VERIFIED, row["reason"]
    assert row["comparisons"] == json.loads(row["counters"])["comparisons"] > 0


@pytest.mark.some(10)
@pytest.mark.parametrize("workload", names())
@pytest.mark.parametrize(
    ("variant", "column", "count"),
    [("lose", "missing", 1), ("duplicate", "duplicate", 1), ("corrupt", "wrong", 1)],
)
def test_one_damaged_output_is_noticed_and_voids_the_number(
    trial_here, workload, variant, column, count
):
    row = trial_here(variant, workload=workload, capacity_eps=1_000_000)
    assert row["status"] == "wrong_output"
    assert row[column] == count
    assert row.get("throughput_eps") is None and row.get("outputs_eps") is None
    assert column in row["difference"]


@pytest.mark.some(9)
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
    assert row["reason"].startswith("right by chance: soundness = none ignores")
    assert row.get("throughput_eps") is None and row.get("outputs_eps") is None


def test_an_answer_that_is_wrong_on_purpose_says_so(trial_here):
    row = trial_here(
        "dataflow", workload="sensor_interpolation", engine="multicore", soundness="none"
    )
    assert row["status"] == "wrong_output"
    assert (
        " wrong: soundness = none ignores the order that the graph's types require" in row["reason"]
    )
    assert row["difference"].splitlines()[0] == row["reason"]


def test_error_in_the_engine_is_a_crash_with_its_words(trial, tmp_path):
    row = trial("crash")
    assert row["status"] == "crash"
    assert row["reason"] == "EngineCrashError: the fake engine crashed, as its variant requires"
    assert "Traceback" in (tmp_path / "trial.log").read_text()


def test_values_that_no_column_can_hold_are_reported_and_void_the_trial(trial):
    row = trial("overcount")
    assert row["status"] == "invalid"
    assert row["events"] is None and row["throughput_eps"] is None
    assert f"events is {2**70}, which is not of type int64" in row["reason"]
    assert "counter seen is nan, not a finite number: it is left out" in row["reason"]
    assert json.loads(row["counters"]) == {"lost": 1.0}


def test_disk_that_is_really_full_is_no_answer_of_the_engine(trial, monkeypatch):
    monkeypatch.setattr("streamlab.lab.runner.launcher.LEAST_FREE_BYTES", 2**63)
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


def test_an_engine_that_closes_its_output_is_measured_and_its_error_is_reported(trial):
    assert trial("mute")["status"] == "ok"
    row = trial("mute", says="out of ink")
    assert (row["status"], row["reason"]) == ("crash", "EngineCrashError: out of ink")


def test_a_temporary_file_that_cannot_be_removed_costs_a_warning_and_no_number(
    trial, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    row = trial("litter")
    left = [*tmp_path.glob("lab-job-*/tmp/**/fake-litter-*")]
    for path in left:
        subprocess.run(["chattr", "-i", str(path)], check=True)
    if row["status"] == "crash":
        pytest.skip(f"SKIPPED: no file can be made immutable here: {row['reason']}")
    assert row["status"] == "ok" and row["throughput_eps"] > 0
    (folder,) = tmp_path.glob("lab-job-*")
    expected = f"the lab could not remove the temporary folder {folder}; remove it by hand"
    assert expected in json.loads(row["warnings"])
    assert len(left) == 1


def test_refused_task_is_unsupported_with_the_engines_reason(trial):
    row = trial("correct", refuse="no windows here")
    assert (row["status"], row["reason"]) == ("unsupported", "no windows here")


def test_hanging_engine_is_stopped_with_all_its_processes(trial):
    timeout_s, reason = 2, ""
    while "in phase run" not in reason:  # a busy machine takes longer to come to that
        timeout_s *= 2
        row = trial("hang", timeout_s=timeout_s)
        assert row["status"] == "timeout"
        reason = row["reason"]
    assert reason == f"stopped after {timeout_s} s in phase run; raise timeout_s (--timeout)"
    assert sleepers() == []


def test_process_and_thread_left_by_an_engine_are_reported_and_killed(trial):
    row = trial("leak")
    assert row["status"] == "ok"
    assert "the engine left processes" in row["reason"]
    assert "the engine left threads: fake-leak" in row["reason"]
    assert "left processes behind" in row["reason"]
    assert sleepers() == []


def test_answer_and_series_are_stored(trial, tmp_path):
    row = trial("correct", capacity_eps=10_000)
    outputs = pq.read_table(tmp_path / "outputs.parquet")
    assert outputs.column_names == ["ts", "sum"]
    assert outputs.num_rows == row["outputs"]
    series = pq.read_table(tmp_path / "series.parquet").to_pydict()
    assert sum(series["timed"]) >= 1
    assert max(rss for rss in series["rss_bytes"] if rss) <= row["peak_rss_bytes"]


def test_energy_that_cannot_be_read_is_null_with_the_reason_and_never_0(trial):
    row = trial("correct")
    assert (row["energy_source"], row["energy_reason"]) == ("none", "switched off")
    assert row["energy_gross_j"] is None and row["power_w"] is None


def test_second_attempt_is_counted_in_the_log(tmp_path, small_dataset):
    spec = engine_trial(options={"refuse": "not now"}, dataset=small_dataset())
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
        load=LoadSpec(
            rate_eps=1_000.0,
            warm_up_s=0.5,
            window_s=2.0,
            arrival="bursts",
            params={"on_s": 1.0, "off_s": 0.5},
        ),
    )
    oracle = OracleJob(dataset=small_dataset(), query={"k": 3})
    for job in (trial, oracle, CeilingJob(engine="e", variant="v", batch=7)):
        write_job(job, tmp_path / "job.json")
        assert read_job(tmp_path / "job.json") == job


def test_an_oracles_job_leaves_its_answer_where_trials_find_it(tmp_path, small_dataset):
    dataset = small_dataset()
    job = OracleJob(dataset=dataset)
    result = run_trial(job, log=tmp_path / "o.log", timeout_s=TIMEOUT_S).columns
    assert result.get("status") is None
    assert expected_rows(workload_of(job), dataset) is not None


def classified(result=None, log="", phase="run", **ending):
    """The row of a trial that ended so, with this result."""
    normal = {"returncode": 0, "timed_out": False, "oom_kills": 0, "leftovers": ()}
    return classify(Outcome(**{**normal, **ending}), result, log, phase=phase, timeout_s=1)


@pytest.mark.parametrize(
    ("reason", "ending", "status"),
    [
        pytest.param(None, {"returncode": -9, "oom_kills": 1}, "oom", id="killed for memory"),
        pytest.param(None, {"returncode": 1, "oom_kills": 1}, "crash", id="another was killed"),
        pytest.param("ValueError: no", {"oom_kills": 1}, "crash", id="another, with evidence"),
        pytest.param("a worker was killed by SIGKILL", {"oom_kills": 1}, "oom", id="its child"),
        pytest.param("java.lang.OutOfMemoryError: heap", {}, "oom", id="Java without memory"),
    ],
)
def test_a_crash_is_for_lack_of_memory_if_the_kernel_or_the_engine_reports_it(
    reason, ending, status
):
    result = None if reason is None else {"status": "crash", "reason": reason}
    assert classified(result, **ending)["status"] == status


def test_crash_without_a_result_shows_the_last_lines_of_the_log():
    log = "# attempt 1\n# phase: prepare\n" + "".join(f"line {i}\n" for i in range(9))
    assert classified(log=log, phase="prepare", returncode=3)["reason"] == (
        "the process ended with code 3 in phase prepare: line 4 | line 5 | line 6 | line 7 | line 8"
    )


def test_rates_of_a_trial_that_timed_out_after_its_run_are_void():
    result = {"status": "ok", "reason": None, "throughput_eps": 5.0, "outputs_eps": 1.0}
    row = classified(result, phase="answer", timed_out=True)
    assert (row["status"], row["throughput_eps"], row["outputs_eps"]) == ("timeout", None, None)


def test_memory_for_the_answer_is_allocated_before_the_clock_or_counted(tmp_path):
    subject = workload("page_view_join")
    defaults = {name: one.default for name, one in subject.parameters.items()}
    dataset = write_dataset(
        generated(subject, defaults, 300_000, 1), subject.name, tmp_path / "data"
    )
    spec = engine_trial(engine="multicore", variant="dgs", batch=4096, dataset=dataset)
    grown = []
    for _ in range(2):  # the first verifies, and so leaves the oracle's answer
        row = run_trial(spec, log=tmp_path / "trial.log", timeout_s=TIMEOUT_S).columns
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
