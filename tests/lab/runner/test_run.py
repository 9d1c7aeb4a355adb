"""`lab run` on the fake engine: output, exit codes, loads and searches."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec import to_builtins

from streamlab.engines.fake.adapter import FakeEngine
from streamlab.engines.protocol import Variant
from streamlab.lab.cli import (
    EXIT_ENGINE_FAILURE,
    EXIT_OK,
    EXIT_USER_ERROR,
    EXIT_WRONG_OUTPUT,
    call,
)
from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.measure.elastic import read_reconfigurations
from streamlab.lab.measure.energy.choose import Choice
from streamlab.lab.measure.hdr import read_log
from streamlab.lab.runner.session import Session, ceiling_warnings, finish
from streamlab.results.meta import CeilingRecord
from streamlab.results.schema import VERIFIED
from streamlab.results.store import read_run, read_trials
from tests.lab.runner.runs import run_lab, stored_searches
from tests.results.records import run_meta, store_meta, trial_row


def test_run_ends_with_the_path_of_a_run_that_can_be_read(capsys, matrix, dataset):
    code, out, _ = run_lab(capsys, matrix(["correct"], repetitions=2), "--keep-outputs")
    run_dir = Path(out[-1])
    assert code == EXIT_OK
    run = read_run(run_dir)
    assert [row.status for row in run.rows] == ["ok", "ok"]
    assert {row.dataset for row in run.rows} == {dataset}
    assert {row.seed for row in run.rows} == {7}
    included = {(row.unit, row.origin, row.also_timed) for row in run.rows}
    assert included == {("whole input", "memory", "nothing")}
    assert run.meta.complete and not run.meta.sessions[0].interrupted
    assert run.meta.recorded["vcs"].keys() == {"commit", "dirty_diff_sha256", "reason"}
    assert run.meta.host["cores_usable"] == len(os.sched_getaffinity(0))
    assert (run_dir / "outputs" / "event_window@small__fake__correct__w1.parquet").is_file()
    assert all((run_dir / row.series).is_file() for row in run.rows)
    assert all((run_dir / row.log).is_file() for row in run.rows)
    table = "\n".join(out)
    assert "event_window (small)" in table and "fake correct" in table and "k/s" in table


def test_wrong_answer_gives_exit_code_4_and_shows_the_difference(capsys, matrix):
    code, out, err = run_lab(capsys, matrix(["correct", "corrupt", "crash"]))
    assert code == EXIT_WRONG_OUTPUT
    assert "1 wrong" in err and "expected (ts=" in err
    (line,) = [line for line in out if line.startswith("  fake corrupt")]
    assert "wrong_output" in line and "/s" not in line


def test_failed_engine_gives_exit_code_3(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["correct", "crash"]))
    assert code == EXIT_ENGINE_FAILURE
    assert any("as its variant requires" in line for line in out)


def test_unsupported_cell_is_shown_with_its_reason_and_is_no_failure(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["correct"], options='{ refuse = "too small" }'))
    assert code == EXIT_OK
    assert any("unsupported: too small" in line for line in out)


def test_one_cell_and_one_trial_are_in_the_singular(capsys, matrix):
    path = matrix(["correct"], options='{ refuse = "too small" }')
    assert call(["run", str(path), "--dry-run"]) == EXIT_OK
    assert "1 cell, 1 trial\n" in capsys.readouterr().err
    _, out, _ = run_lab(capsys, path)
    assert [line for line in out if line.startswith("1 trial, ")]
    more = matrix(["correct"], options='{ refuse = "too small" }', repetitions=2)
    assert call(["run", str(more), "--dry-run"]) == EXIT_OK
    assert "1 cell, 2 trials\n" in capsys.readouterr().err


def test_words_and_numbers_that_no_file_holds_cost_one_cell_and_not_the_run(capsys, matrix):
    code, out, err = run_lab(capsys, matrix(["babble", "overcount", "correct"]))
    assert code == EXIT_ENGINE_FAILURE, err
    run = read_run(Path(out[-1]))
    assert [row.status for row in run.rows] == ["crash", "invalid", "ok"]
    assert r"said \udcff and [/red] \x1b[2J" in run.rows[0].reason
    assert "\x1b" not in "".join(out) + err
    assert call(["report", str(run.path)]) == EXIT_OK
    assert r"said \udcff and [/red]" in (run.path / "report.html").read_text()
    assert call(["run", "--resume", str(run.path)]) == EXIT_ENGINE_FAILURE


@pytest.mark.full
def test_number_that_is_not_finite_is_a_warning_in_run_table_and_page(capsys, matrix):
    code, out, err = run_lab(capsys, matrix(["unbounded"]))
    assert code == EXIT_OK, err
    run = read_run(Path(out[-1]))
    (row,) = run.rows
    assert (row.status, row.load_cov, row.instances_max) == ("ok", None, 1)
    warning = "load_cov is inf, not a finite number: it is left out"
    assert warning in json.loads(row.warnings)
    assert any(warning in line for line in out)
    assert call(["report", str(run.path)]) == EXIT_OK
    assert warning in (run.path / "report.html").read_text()


@pytest.mark.full
def test_generator_whose_ceiling_is_not_finite_has_an_unknown_one(capsys, matrix):
    _, out, _ = run_lab(capsys, matrix(["unbounded"], more=LOAD))
    (row,) = read_run(Path(out[-1])).rows
    assert row.generator_ceiling_eps is None
    assert (
        "the generator's ceiling is unknown: generator_ceiling_eps is inf, not a finite number: "
        "it is left out" in json.loads(row.warnings)
    )


def test_engine_that_claims_a_full_disk_costs_its_cell_and_not_the_run(capsys, matrix):
    path = matrix(["crash", "correct"], options='{ says = "[Errno 28] No space left on device" }')
    code, out, err = run_lab(capsys, path)
    assert code == EXIT_ENGINE_FAILURE, err
    rows = read_run(Path(out[-1])).rows
    assert [row.status for row in rows] == ["crash", "ok"]
    assert "No space left on device; the disks of run directory and TMPDIR have" in rows[0].reason


def test_input_that_no_disk_holds_is_refused_before_any_is_made(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    path = tmp_path / "m.toml"
    path.write_text(
        '[[workload]]\nname = "page_view_join"\nevents = 10\n[[workload]]\nname = "event_window"\n'
        'events = 1_000_000_000_000_000\n[[engine]]\nname = "fake"\n'
    )
    code, _, err = run_lab(capsys, path, "--out", tmp_path / "runs")
    assert code == EXIT_USER_ERROR
    assert "1,000,000,0" in err and "events take at least" in err and "request fewer events" in err
    assert not (tmp_path / "catalogue").exists() and not (tmp_path / "runs").exists()


def test_dry_run_prints_the_cells_and_makes_nothing(capsys, matrix, tmp_path):
    path = matrix(["correct", "lose"], repetitions=3)
    code, out, _ = run_lab(capsys, path, "--dry-run", "--only", "*lose*")
    assert code == EXIT_OK
    assert out == ["event_window@small/fake/lose/w1  x3"]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch.toml"], "cannot read the matrix"),
        ([], "give a MATRIX file, a WORKLOAD, --demo, or --resume RUN_DIR"),
        (["--demo", "--only", "zzz"], "matches no cell"),
        (["x.toml", "--real-data", "."], "--real-data requires --demo"),
        (["--resume", "."], "neither a run's directory"),
    ],
)
def test_user_error_gives_exit_code_2_and_its_remedy(capsys, arguments, message):
    code, out, err = run_lab(capsys, *arguments)
    assert code == EXIT_USER_ERROR
    assert message in err
    assert out == []


def test_dataset_of_another_workload_is_refused(capsys, matrix):
    path = matrix(["correct"])
    path.write_text(path.read_text().replace('"event_window"', '"keyed_counter"'))
    code, _, err = run_lab(capsys, path)
    assert code == EXIT_USER_ERROR
    assert "is the input of event_window, not of keyed_counter" in err


LOAD = "[load]\nrate_eps = 1_000\nwarm_up_s = 0.5\nwindow_s = 2\n"
SEARCH = (
    '[load]\nsearch = "sustainable"\nstart_eps = 400\nwarm_up_s = 0.1\nwindow_s = 2\n'
    "votes = 1\nconfirmations = 1\ntolerance = 0.5\nlevels = [0.5]\n"
)


def test_offered_loads_are_printed_and_stored_beside_catch_up(capsys, matrix):
    loads = "[[load]]\n" + LOAD.replace("[load]\n", "") + '[[load]]\nmode = "catch-up"\n'
    options = "{ capacity_eps = 10_000, real_time = false }"
    code, out, _ = run_lab(capsys, matrix(["correct"], options=options, more=loads))
    assert code == EXIT_OK
    run = read_run(Path(out[-1]))
    rows = {row.cell.rpartition("/")[2]: row for row in run.rows}
    offered, catch_up = rows["constant-1k"], rows["w1"]
    assert json.loads(offered.load)["rate_eps"] == 1_000
    assert offered.arrival == "constant" and offered.load_label == "constant-1k"
    assert (offered.warm_up_s, offered.window_s) == (0.5, 2.0)
    assert offered.throughput_eps is None and catch_up.throughput_eps > 0
    assert catch_up.load is None and catch_up.purpose == "cell"
    assert offered.fingerprint != catch_up.fingerprint
    assert (run.path / offered.histograms).suffix == ".hlog"
    assert read_log((run.path / offered.histograms).read_bytes())
    assert run.meta.generators == {"fake/correct/b1": CeilingRecord()}
    (line,) = [line for line in out if line.startswith("  fake") and "constant-1k" in line]
    assert "ok" in line and "1,000 /s" in line.replace("1.00 k", "1,000 ")
    for row in run.rows:
        assert row.loadavg_before is not None and isinstance(json.loads(row.warnings), list)
        assert row.isolate == "process"


def test_real_engine_is_driven_at_the_rate_in_real_time(capsys, matrix):
    path = matrix(["sequential"], options="{}", more=LOAD.replace("1_000", "300"))
    path.write_text(path.read_text().replace('name = "fake"', 'name = "reference"'))
    code, out, err = run_lab(capsys, path)
    (row,) = read_run(Path(out[-1])).rows
    # A machine that is busy with other things may keep it from a steady state.
    assert (code, row.status in VERIFIED) == (EXIT_OK, True), err
    assert row.duration_s > 2.0
    assert row.offered_eps == pytest.approx(300, rel=0.01)
    assert row.generator_ceiling_eps is None and row.send_lag_p99_ns is None


def test_rates_that_are_not_sustained_are_a_result_and_no_failure(capsys, matrix):
    path = matrix(["correct"], options="{ capacity_eps = 800 }", more=LOAD)
    code, out, err = run_lab(capsys, path)
    assert code == EXIT_OK
    assert "unsustained  offered 1.00 k/s" in err
    assert any("unsustained" in line and "constant-1k" in line for line in out)


def test_generator_that_lags_gives_exit_code_3(capsys, matrix):
    options = "{ capacity_eps = 9_000, generator_lag_s = 0.01 }"
    code, _, err = run_lab(capsys, matrix(["correct"], options=options, more=LOAD))
    assert code == EXIT_ENGINE_FAILURE
    assert "invalid: generator: " in err and "send lag p99 10 ms, above 1 ms" in err


def test_variant_without_loads_gets_a_row_and_no_process(capsys, matrix, monkeypatch):
    class Batch(FakeEngine):
        def variants(self):
            summary = "takes what is there"
            return (
                Variant(name="correct", summary=summary, options=super().variants()[0].options),
            )

    monkeypatch.setattr("streamlab.lab.matrix.cells.find_engine", lambda name: Batch())
    code, out, _ = run_lab(capsys, matrix(["correct"], repetitions=3, more=LOAD))
    assert code == EXIT_OK
    (row,) = read_run(Path(out[-1])).rows
    assert row.status == "unsupported" and "cannot be driven" in row.reason
    assert row.log is None and list((Path(out[-1]) / "logs").iterdir()) == []


@pytest.mark.full
def test_search_brackets_the_capacity_and_prints_it(capsys, matrix):
    path = matrix(["correct"], options="{ capacity_eps = 500 }", more=SEARCH)
    code, out, err = run_lab(capsys, path)
    assert code == EXIT_OK
    run = read_run(Path(out[-1]))
    purposes = [row.purpose for row in run.rows]
    assert purposes[0] == "double" and purposes[-1] == "level" and "confirm" in purposes
    assert [row.order_index for row in run.rows] == list(range(len(run.rows)))
    (search,) = stored_searches(run.path).values()
    bracket = search["bracket"]
    assert search["over"] and bracket["confirmed"]
    assert bracket["r_pass_eps"] <= 500 * 1.011 < bracket["r_fail_eps"] * 1.011
    (line,) = [line for line in out if "/sustainable" in line and "confirmed" in line]
    assert "/s" in line and "%" in line
    assert "double 1.1 at 400 /s" in err


@pytest.mark.full
def test_search_that_lost_its_last_trials_repeats_only_these(capsys, matrix, same_source):
    path = matrix(["correct"], options="{ capacity_eps = 500 }", more=SEARCH)
    _, out, _ = run_lab(capsys, path)
    run_dir = Path(out[-1])
    before = read_trials(run_dir)
    lost = [name for name, row in before.items() if row.order_index >= len(before) - 3]
    for name in lost:
        (run_dir / "trials" / f"{name}.json").unlink()
    (run_dir / "trials.parquet").unlink()
    (run_dir / "searches" / "event_window@small__fake__correct__w1__sustainable.json").unlink()
    code, out, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_OK, err
    after = read_trials(run_dir)
    assert set(after) == set(before)
    assert [after[name] for name in before if name not in lost] == [
        before[name] for name in before if name not in lost
    ]
    assert all(after[name].attempt == 2 for name in lost)
    assert [row.order_index for row in read_run(run_dir).rows] == list(range(len(before)))


@pytest.mark.full
def test_search_that_finds_no_rate_gives_exit_code_3(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["crash"], more=SEARCH))
    assert code == EXIT_ENGINE_FAILURE
    assert any("none found" in line for line in out)


@pytest.mark.full
def test_wrong_answer_ends_a_search_with_exit_code_4(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["lose"], more=SEARCH))
    assert code == EXIT_WRONG_OUTPUT
    assert len(read_run(Path(out[-1])).rows) == 1


def test_net_energy_is_filled_into_the_records_when_the_session_ends(tmp_path):
    choice = Choice(name="powercap", reason=None, reports=())
    session = Session(
        run_dir=tmp_path,
        settings=Settings(),
        energy=choice,
        idle_before={"package-0": 5.0},
    )
    gross = {
        "energy_gross_j": 100.0,
        "energy_domains": '{"package-0": 100.0}',
        "energy_reason": None,
        "duration_s": 10.0,
        "events": 1_000,
        "status": "ok",
        "cell": "a",
        "repetition": 1,
        "order_index": 0,
    }
    none = trial_row(gross | {"energy_gross_j": None})
    session.measured = {"a-r1": trial_row(gross), "b-r1": none}
    finish(session, interrupted=True)
    (row,) = read_trials(tmp_path).values()
    assert (row.energy_net_j, row.energy_net_j_per_1000, row.idle_w) == (50.0, 50.0, 5.0)
    assert "baseline only before the session" in row.energy_reason
    assert session.advice() == (
        "energy is read through powercap without an idle baseline; set idle_s = 60 in [run] to "
        "get net joules"
    )


def test_requested_energy_that_cannot_be_read_is_reported(tmp_path):
    session = Session(
        run_dir=tmp_path,
        settings=Settings(energy="powercap"),
        energy=Choice(name="none", reason="powercap: no RAPL here", reports=()),
    )
    assert session.advice() == (
        'energy = "powercap" cannot be read, so trials have no energy figures: '
        "powercap: no RAPL here; see `lab doctor`"
    )
    session.settings = Settings()
    assert session.advice() is None


def test_rate_above_half_of_the_generators_ceiling_is_warned_of():
    ceiling = CeilingRecord(ceiling_eps=1_000.0)
    assert ceiling_warnings(ceiling, 500.0) == []
    (warning,) = ceiling_warnings(ceiling, 600.0)
    assert "600 events/s, is 60% of the generator's ceiling, 1,000" in warning
    assert ceiling_warnings(CeilingRecord(), 1e12) == []
    assert ceiling_warnings(CeilingRecord(reason="it crashed"), 1.0) == [
        "the generator's ceiling is unknown: it crashed"
    ]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("workloads", "page_view_join"),
        ("engines", "fake  1"),
        ("engines", "programs with DGS, takes a batch size, default for DGS programs\n"),
        ("engines", "log; operators O+, takes a batch size, default for queries of operators O+\n"),
        ("engines", "batches, default for DGS programs, queries of operators O+ and ordered pipe"),
        (
            "engines",
            "        runs DGS programs, queries of operators O+, ordered pipelines; not high_mobility_fraud",
        ),
        ("engines", "pipelines, takes a batch size, default for ordered pipelines\n"),
        ("engines", "answer, default for DGS programs, queries of operators O+, ordered pipe"),
        ("figures", "stretch:6"),
    ],
)
def test_list_names_all_entries(capsys, dataset, what, expected):
    assert call(["list", what]) == EXIT_OK
    assert expected in capsys.readouterr().out


def test_the_lines_of_a_list_of_runs_are_as_many_as_the_runs(capsys, stored_run, tmp_path):
    assert call(["list", "runs", "--out", str(tmp_path / "none")]) == EXIT_OK
    printed = capsys.readouterr()
    assert (printed.out, "no runs in" in printed.err) == ("", True)
    stored_run(["correct"], called="20260101T000000Z-a")
    stored_run(["correct"], called="20260101T000000Z-b")
    capsys.readouterr()  # of the run that is copied
    assert call(["list", "runs"]) == EXIT_OK
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_run_records_how_an_elastic_operator_was_scaled(capsys, matrix):
    options = "{ scale_at_s = 0.65, capacity_eps = 1e6 }"
    _, out, err = run_lab(capsys, matrix(["correct"], options=options, more=LOAD))
    assert out, err
    run_dir = Path(out[-1])
    (row,) = read_run(run_dir).rows
    assert row.status in VERIFIED, row.reason
    assert (row.reconfiguration_count, row.reconfiguration_max_ns) == (1, 1_000_000)
    assert (row.instances_min, row.instances_max, row.load_cov) == (1, 2, 0.0)
    assert row.comparisons == row.events
    (change,) = read_reconfigurations((run_dir / row.reconfigurations).read_bytes())
    assert (change.at_ns, change.before, change.after) == (650_000_000, 1, 2)
    series = pq.read_table(run_dir / row.series).to_pylist()
    assert {one["instances"] for one in series if 0 <= one["t_ns"] < 600_000_000} == {1}
    assert [one["instances"] for one in series if one["t_ns"] == 600_000_000] == [2]


@pytest.mark.parametrize(
    "damage",
    [
        {"cells": 5},
        {"complete": "yes"},
        {"vcs": {"commit": 5}},
        "5",
        "[" * 100_000,
        "",
    ],
)
def test_list_runs_tells_damaged_runs_and_lists_the_others(capsys, tmp_path, damage):
    good = to_builtins(run_meta({"complete": True}))
    store_meta(tmp_path / "good", good)
    store_meta(tmp_path / "lacks", good)
    bad = tmp_path / "lacks" / "run.json"
    if isinstance(damage, dict):
        store_meta(bad.parent, good | damage)
    else:
        bad.write_text(damage)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert call(["list", "runs", "--out", str(tmp_path)]) == EXIT_OK
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{tmp_path / 'good'}  0 cells, no commit, complete"
    assert second.startswith(str(tmp_path / "lacks")) and "is damaged" in second


def test_kernel_time_in_a_timed_part_is_among_the_warnings(capsys, matrix, monkeypatch):
    monkeypatch.setattr("streamlab.lab.measure.usage.MAX_SYSTEM_SHARE", -1.0)
    monkeypatch.setattr("streamlab.lab.measure.usage.LEAST_SYSTEM_S", 0.0)
    _, out, _ = run_lab(capsys, matrix(["correct"]))
    (row,) = read_run(Path(out[-1])).rows
    assert row.cpu_s == pytest.approx(row.user_s + row.system_s)
    assert any("the kernel took" in text for text in json.loads(row.warnings))
