"""Engines that cheat are caught, or what they did is in their row."""

import json
import shutil
from pathlib import Path

import pytest

from streamlab.lab.isolate.process import why_unconfined
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.measure.usage import core_warnings
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import OracleJob
from streamlab.reports.table import LEAST_UNTIMED
from tests.lab.engine_trial import engine_trial
from tests.lab.judge import cheats
from tests.results.records import trial_row

TIMEOUT_S = 600
CHEATS = {
    found.name: found
    for found in vars(cheats).values()
    if isinstance(found, type) and found.__module__ == cheats.__name__ and hasattr(found, "name")
}


@pytest.fixture
def cheat(tmp_path, small_dataset, monkeypatch):
    """A function that runs one trial of a cheat by its name, and returns its row."""
    site = tmp_path / "site"
    info = site / "cheats-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(Path(cheats.__file__), site / "cheats.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cheats\nVersion: 1.0\n")
    lines = [f"{name} = cheats:{found.__name__}" for name, found in CHEATS.items()]
    (info / "entry_points.txt").write_text("\n".join(["[lab.engines]", *lines]))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("CHEAT_SEARCH", str(tmp_path))
    dataset = small_dataset()
    run_trial(OracleJob(dataset=dataset), log=tmp_path / "oracle.log", timeout_s=TIMEOUT_S)

    def run(name, load=None):
        variant = "streaming" if load else "batch"
        spec = engine_trial(engine=name, variant=variant, dataset=dataset, load=load)
        log = tmp_path / "trial.log"
        row = run_trial(
            spec, log=log, timeout_s=TIMEOUT_S, hidden=sorted(tmp_path.glob("*/outputs"))
        ).columns
        return row | {"workers": 1}

    return run


def has_number(row):
    return row.get("throughput_eps") is not None


@pytest.mark.parametrize("name", ["works-in-prepare", "runs-nothing", "works-in-refusal"])
def test_work_before_the_clock_is_in_the_row_and_weighs_enough_to_be_shown(cheat, name):
    row = cheat(name)
    assert row["prepare_s"] >= cheats.WORK_S and row["prepare_cpu_s"] >= cheats.WORK_S
    assert row["prepare_s"] > LEAST_UNTIMED * row["duration_s"]


@pytest.mark.parametrize("name", ["works-in-columns", "works-in-background", "answers-lazily"])
def test_work_behind_the_clock_is_in_the_row_and_weighs_enough_to_be_shown(cheat, name):
    row = cheat(name)
    worked_s = row["cpu_s"] + row["answer_cpu_s"]
    assert row["status"] == "ok" and worked_s >= cheats.WORK_S - 0.01
    assert row["answer_s"] + row["duration_s"] >= cheats.WORK_S
    if row["duration_s"] < cheats.WORK_S / 2:
        assert row["answer_s"] > LEAST_UNTIMED * row["duration_s"]


def confined():
    if (why := why_unconfined()) is not None:
        pytest.skip(f"TRIALS CANNOT BE CONFINED HERE: {why}")


def test_nothing_that_a_trial_leaves_is_there_in_the_next(cheat, tmp_path, monkeypatch):
    confined()
    monkeypatch.setenv("CHEAT_MARK", tmp_path.name)
    for _ in range(2):
        row = cheat("remembers")
        assert (row["status"], row["plan"], row["kept_folders"]) == ("ok", "found 0", None)


def test_the_expected_answer_and_stored_outputs_cannot_be_copied(cheat, tmp_path):
    confined()
    (answer,) = tmp_path.rglob("expected/*.parquet")
    outputs = tmp_path / "run" / "outputs"
    outputs.mkdir(parents=True)
    shutil.copy(answer, outputs / "cell.parquet")
    row = cheat("copies")
    assert (row["status"], row["reason"].partition(", in ")[0]) == (
        "crash",
        "EngineCrashError: copies, batch: EngineCrashError: found no answer to copy",
    )


def test_the_cpu_of_threads_above_the_workers_is_counted_and_reported(cheat):
    row = cheat("uses-threads")
    assert row["status"] == "ok" and row["cpu_s"] >= 4 * cheats.WORK_S
    # On a busy machine four threads may get less than one core.
    assert any("cores with 1 worker" in text for text in core_warnings(trial_row(row))) == (
        row["cpu_s"] > 1.1 * row["duration_s"] + 0.02
    )


def test_a_clock_that_the_engine_slows_gives_no_number(cheat):
    row = cheat("slows-clock")
    assert row["status"] == "invalid" and not has_number(row)
    assert row["reason"].startswith("the trial's clock says 0.0")
    assert row["duration_s"] < cheats.WORK_S <= row["lab_duration_s"]


def test_cpu_time_that_the_engine_hides_gives_no_number(cheat):
    row = cheat("hides-cpu")
    assert row["status"] == "invalid" and not has_number(row)
    assert row["reason"].startswith("the trial's CPU time says 0.000 s")


def test_a_timed_part_that_is_reported_late_shows_the_rest_as_preparation(cheat):
    row = cheat("reports-late")
    assert not has_number(row) or row["prepare_s"] >= cheats.WORK_S


def test_a_verdict_that_the_engine_patches_is_not_the_one_that_counts(cheat):
    row = cheat("patches-verdict")
    assert (row["status"], row["missing"]) == ("wrong_output", 1) and not has_number(row)


def test_a_forged_result_has_no_number(cheat):
    row = cheat("forges-result")
    assert row["status"] == "invalid" and not has_number(row)
    assert row["reason"].startswith("the trial reported 'before end' never")


def test_a_forged_verdict_has_no_number(cheat):
    row = cheat("forges-verdict")
    assert row["status"] == "invalid" and not has_number(row)


def test_outputs_that_leave_before_their_inputs_are_due_give_no_number(cheat):
    load = LoadSpec(rate_eps=2_000.0, warm_up_s=0.1, window_s=0.6)
    row = cheat("guesses", load)
    assert row["status"] == "invalid"
    assert "inputs they depend on were not due yet" in row["reason"]
    assert "sustained" not in row


def test_a_lost_output_has_no_number(cheat):
    row = cheat("loses")
    assert (row["status"], row["missing"]) == ("wrong_output", 1) and not has_number(row)


def test_every_cheat_is_tried(request):
    tried = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in CHEATS if json.dumps(name) not in tried] == []
