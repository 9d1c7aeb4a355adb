import errno
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lab.cli
import lab.runner
from engines.fake.adapter import FakeEngine
from engines.protocol import Variant
from lab.cli import (
    EXIT_ENGINE_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USER_ERROR,
    EXIT_WRONG_OUTPUT,
    call,
)
from lab.generators import Ceiling, Generators
from lab.isolate.isolation import Isolation
from lab.matrix import Settings
from lab.measure.elastic import read_reconfigurations
from lab.measure.energy.choose import Choice
from lab.measure.hdr import read_log
from lab.search.record import read_searches
from lab.session import Session, finish
from results.schema import VERIFIED
from results.store import finished, read_meta, read_run, write_meta
from tests.lab.published import publish
from workloads.datasets.catalog import Catalog

ROOT = Path(lab.cli.__file__).parents[2]
PATIENCE_S = 120


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """Id of a small event_window dataset in a catalogue of its own, made without Spark."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "200")
    return publish(Catalog.default()).id


@pytest.fixture
def matrix(tmp_path, dataset):
    """A function that writes a matrix of fake cells and returns its path."""

    def write(variants, *, repetitions=1, options="{ rate_eps = 100_000 }", name="m", more=""):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f"[run]\nrepetitions = {repetitions}\ntimeout_s = 60\n"
            f'[[workload]]\nname = "event_window"\ndataset = "{dataset[:12]}"\nlabel = "small"\n'
            f'[[engine]]\nname = "fake"\nvariants = {json.dumps(variants)}\n'
            f"options = {options}\n{more}\n"
        )
        return path

    return write


@pytest.fixture
def same_source(monkeypatch):
    """One source revision from the run to its resumption, whoever edits the checkout meanwhile."""
    pinned = {"commit": "1" * 40, "dirty_diff_sha256": None, "reason": None}
    monkeypatch.setattr("lab.run_dir.revision", lambda: dict(pinned))
    return pinned


def run_lab(capsys, *arguments):
    """Exit code, lines of standard output, and standard error of one `lab run`."""
    code = call(["run", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err


def test_run_ends_with_the_path_of_a_run_that_can_be_read(capsys, matrix, dataset):
    code, out, _ = run_lab(capsys, matrix(["correct"], repetitions=2), "--keep-outputs")
    run_dir = Path(out[-1])
    assert code == EXIT_OK
    run = read_run(run_dir)
    assert [row["status"] for row in run.rows] == ["ok", "ok"]
    assert {row["dataset"] for row in run.rows} == {dataset}
    assert {row["seed"] for row in run.rows} == {7}
    assert run.meta["complete"] and not run.meta["sessions"][0]["interrupted"]
    assert run.meta["vcs"].keys() == {"commit", "dirty_diff_sha256", "reason"}
    assert run.meta["host"]["cores_usable"] == len(os.sched_getaffinity(0))
    assert (run_dir / "outputs" / "event_window@small__fake__correct__w1.parquet").is_file()
    assert all((run_dir / row["series"]).is_file() for row in run.rows)
    assert all((run_dir / row["log"]).is_file() for row in run.rows)
    table = "\n".join(out)
    assert "event_window@small" in table and "fake/correct" in table and "k/s" in table


def test_wrong_answer_gives_exit_code_4_and_shows_the_difference(capsys, matrix):
    code, out, err = run_lab(capsys, matrix(["correct", "corrupt", "crash"]))
    assert code == EXIT_WRONG_OUTPUT
    assert "1 wrong" in err and "expected (ts=" in err
    (line,) = [line for line in out if "fake/corrupt" in line and "event_window@small/" not in line]
    assert "wrong_output" in line and "/s" not in line


def test_failed_engine_gives_exit_code_3(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["correct", "crash"]))
    assert code == EXIT_ENGINE_FAILURE
    assert any("as it was told to" in line for line in out)


def test_unsupported_cell_is_shown_with_its_reason_and_is_no_failure(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["correct"], options='{ refuse = "too small" }'))
    assert code == EXIT_OK
    assert any("unsupported: too small" in line for line in out)


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
        ([], "give a MATRIX file, --demo, or --resume RUN_DIR"),
        (["--demo", "--only", "zzz"], "matches no cell"),
        (["x.toml", "--real-data", "."], "--real-data goes with --demo"),
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
    assert "is input of event_window, not of keyed_counter" in err


LOAD = "[load]\nrate_eps = 1_000\nwarm_up_s = 0.5\nwindow_s = 2\n"
SEARCH = (
    '[load]\nsearch = "sustainable"\nstart_eps = 300\nwarm_up_s = 0.1\nwindow_s = 2\n'
    "votes = 1\nconfirmations = 1\ntolerance = 0.1\nlevels = [0.5]\n"
)


def test_offered_loads_are_printed_and_stored_beside_catch_up(capsys, matrix):
    loads = "[[load]]\n" + LOAD.replace("[load]\n", "") + '[[load]]\nmode = "catch-up"\n'
    options = "{ capacity_eps = 10_000, real_time = false }"
    code, out, _ = run_lab(capsys, matrix(["correct"], options=options, more=loads))
    assert code == EXIT_OK
    run = read_run(Path(out[-1]))
    rows = {row["cell"].rpartition("/")[2]: row for row in run.rows}
    offered, catch_up = rows["constant-1k"], rows["w1"]
    assert json.loads(offered["load"])["rate_eps"] == 1_000
    assert offered["arrival"] == "constant" and offered["load_label"] == "constant-1k"
    assert (offered["warm_up_s"], offered["window_s"]) == (0.5, 2.0)
    assert offered["throughput_eps"] is None and catch_up["throughput_eps"] > 0
    assert catch_up["load"] is None and catch_up["purpose"] == "cell"
    assert offered["fingerprint"] != catch_up["fingerprint"]
    assert (run.path / offered["histograms"]).suffix == ".hlog"
    assert read_log(run.path / offered["histograms"])
    assert run.meta["generators"] == {"fake/correct/b1": {"ceiling_eps": None, "reason": None}}
    (line,) = [line for line in out if "w1/constant-1k" in line]
    assert "ok" in line and "1,000 /s" in line.replace("1.00 k", "1,000 ")
    for row in run.rows:
        assert row["loadavg_before"] is not None and isinstance(json.loads(row["warnings"]), list)
        assert row["isolate"] == "process"


def test_real_engine_is_driven_at_the_rate_in_real_time(capsys, matrix):
    path = matrix(["sequential"], options="{}", more=LOAD.replace("1_000", "300"))
    path.write_text(path.read_text().replace('name = "fake"', 'name = "reference"'))
    code, out, err = run_lab(capsys, path)
    (row,) = read_run(Path(out[-1])).rows
    # A machine that is busy with other things may keep it from a steady state.
    assert (code, row["status"] in VERIFIED) == (EXIT_OK, True), err
    assert row["duration_s"] == pytest.approx(2.5, abs=0.5)
    assert row["offered_eps"] == pytest.approx(300, rel=0.01)
    assert row["generator_ceiling_eps"] is None and row["send_lag_p99_ns"] is None


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
            return (Variant(name="correct", summary="takes what is there"),)

    monkeypatch.setattr("lab.cells.find_engine", lambda name: Batch())
    code, out, _ = run_lab(capsys, matrix(["correct"], repetitions=3, more=LOAD))
    assert code == EXIT_OK
    (row,) = read_run(Path(out[-1])).rows
    assert row["status"] == "unsupported" and "cannot be driven" in row["reason"]
    assert row["log"] is None and list((Path(out[-1]) / "logs").iterdir()) == []


def test_search_brackets_the_capacity_and_prints_it(capsys, matrix):
    path = matrix(["correct"], options="{ capacity_eps = 500 }", more=SEARCH)
    code, out, err = run_lab(capsys, path)
    assert code == EXIT_OK
    run = read_run(Path(out[-1]))
    purposes = [row["purpose"] for row in run.rows]
    assert purposes[0] == "double" and purposes[-1] == "level" and "confirm" in purposes
    assert [row["order_index"] for row in run.rows] == list(range(len(run.rows)))
    (found,) = read_searches(run.path).values()
    assert found.over and found.bracket.confirmed
    assert found.bracket.r_pass_eps <= 500 * 1.011 < found.bracket.r_fail_eps * 1.011
    (line,) = [line for line in out if "/sustainable" in line and "confirmed" in line]
    assert "/s" in line and "%" in line
    assert "double 1.1 at 300 /s" in err


def test_search_that_lost_its_last_trials_repeats_only_these(capsys, matrix, same_source):
    path = matrix(["correct"], options="{ capacity_eps = 500 }", more=SEARCH)
    _, out, _ = run_lab(capsys, path)
    run_dir = Path(out[-1])
    before = finished(run_dir)
    lost = [name for name, row in before.items() if row["order_index"] >= len(before) - 3]
    for name in lost:
        (run_dir / "trials" / f"{name}.json").unlink()
    (run_dir / "trials.parquet").unlink()
    (run_dir / "searches" / "event_window@small__fake__correct__w1__sustainable.json").unlink()
    code, out, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_OK, err
    after = finished(run_dir)
    assert set(after) == set(before)
    assert [after[name] for name in before if name not in lost] == [
        before[name] for name in before if name not in lost
    ]
    assert all(after[name]["attempt"] == 2 for name in lost)
    assert [row["order_index"] for row in read_run(run_dir).rows] == list(range(len(before)))


def test_search_that_finds_no_rate_gives_exit_code_3(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["crash"], more=SEARCH))
    assert code == EXIT_ENGINE_FAILURE
    assert any("none found" in line for line in out)


def test_wrong_answer_ends_a_search_with_exit_code_4(capsys, matrix):
    code, out, _ = run_lab(capsys, matrix(["lose"], more=SEARCH))
    assert code == EXIT_WRONG_OUTPUT
    assert len(read_run(Path(out[-1])).rows) == 1


def test_full_disk_ends_the_run_with_an_error_and_resume_completes_it(
    capsys, matrix, tmp_path, monkeypatch, same_source
):
    real, count = lab.runner.write_trial, itertools.count(1)

    def full_at_the_second(run_dir, name, row):
        if next(count) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(run_dir, name, row)

    monkeypatch.setattr("lab.runner.write_trial", full_at_the_second)
    code, _, err = run_lab(capsys, matrix(["correct"], repetitions=3))
    assert code == EXIT_USER_ERROR
    (run_dir,) = (tmp_path / "runs").iterdir()
    assert "cannot be written: No space left on device; make room and go on with" in err
    assert f"lab run --resume {run_dir}" in err
    run = read_run(run_dir)
    assert [row["repetition"] for row in run.rows] == [1]
    assert not run.meta["complete"] and run.meta["sessions"][0]["interrupted"]

    code, _, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_OK, err
    assert [row["repetition"] for row in read_run(run_dir).rows] == [1, 2, 3]


def test_net_energy_is_filled_into_the_records_when_the_session_ends(tmp_path):
    choice = Choice(name="powercap", reason=None, reports=())
    session = Session(
        run_dir=tmp_path,
        settings=Settings(),
        energy=choice,
        generators=Generators(tmp_path, {}, Isolation()),
        idle_before={"package-0": 5.0},
    )
    gross = {
        "energy_gross_j": 100.0,
        "energy_domains": '{"package-0": 100.0}',
        "energy_reason": None,
        "duration_s": 10.0,
        "events": 1_000,
        "status": "ok",
    }
    session.measured = {"a-r1": dict(gross), "b-r1": gross | {"energy_gross_j": None}}
    meta = {"sessions": [{}]}
    finish(session, meta, interrupted=True)
    (row,) = finished(tmp_path).values()
    assert (row["energy_net_j"], row["energy_net_j_per_1000"], row["idle_w"]) == (50.0, 50.0, 5.0)
    assert "baseline only before the session" in row["energy_reason"]
    assert session.advice() == (
        "energy is read through powercap, without an idle baseline: idle_s = 60 in [run] would "
        "give net joules"
    )


def test_energy_that_was_asked_for_and_cannot_be_read_is_told(tmp_path):
    session = Session(
        run_dir=tmp_path,
        settings=Settings(energy="powercap"),
        energy=Choice(name="none", reason="powercap: no RAPL here", reports=()),
        generators=Generators(tmp_path, {}, Isolation()),
    )
    assert session.advice() == (
        'energy = "powercap" was asked for and cannot be read, so that no trial has energy: '
        "powercap: no RAPL here; see `lab doctor`"
    )
    session.settings = Settings()
    assert session.advice() is None


def test_rate_above_half_of_the_generators_ceiling_is_warned_of():
    ceiling = Ceiling(eps=1_000.0)
    assert ceiling.warnings(500.0) == []
    (warning,) = ceiling.warnings(600.0)
    assert "600 events/s, is 60% of what the generator can do, 1,000" in warning
    assert Ceiling().warnings(1e12) == []
    assert Ceiling(reason="it crashed").warnings(1.0) == [
        "the generator's ceiling is unknown: it crashed"
    ]


def interrupted(path, tmp_path):
    """Start `lab run` as a person would, press Ctrl-C in a later trial than the first.

    The trial is one that has begun and is not recorded, whichever a busy machine shows.

    Returns:
        The exit code, the lines of standard output, and standard error.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "lab", "run", str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def under_way() -> bool:
        logs = list((tmp_path / "runs").glob("*/logs/event_window*.log"))
        # After the logs: a trial that ended meanwhile is known.
        known = {record.stem for record in (tmp_path / "runs").glob("*/trials/*.json")}
        current = [log for log in logs if log.stem not in known]
        return len(known) > 0 and any("# phase: run" in log.read_text() for log in current)

    deadline = time.monotonic() + PATIENCE_S
    while not under_way():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no trial after the first one has begun"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.splitlines(), err


def test_interrupted_run_stops_cleanly_and_is_completed_by_resume(
    capsys, matrix, tmp_path, same_source
):
    path = matrix(["correct"], repetitions=3, options="{ rate_eps = 1_000 }")
    code, out, err = interrupted(path, tmp_path)
    assert code == EXIT_INTERRUPTED, err
    run_dir = Path(out[-1])
    assert f"lab run --resume {run_dir}" in err
    before = finished(run_dir)
    assert 1 <= len(before) < 3
    assert len(read_run(run_dir).rows) == len(before)
    meta = read_meta(run_dir)
    assert not meta["complete"]
    # It was another process, which saw the checkout as it really is.
    write_meta(run_dir, meta | {"vcs": same_source})

    code, out, err = run_lab(capsys, "--resume", run_dir.name)
    assert code == EXIT_OK, err
    assert Path(out[-1]) == run_dir
    run = read_run(run_dir)
    assert [row["repetition"] for row in run.rows] == [1, 2, 3]
    assert max(row["attempt"] for row in run.rows) == 2
    assert all(finished(run_dir)[name] == row for name, row in before.items())
    assert [session["interrupted"] for session in run.meta["sessions"]] == [True, False]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda meta: meta["vcs"].update(commit="0" * 40), "source revision vcs.commit"),
        (
            lambda meta: meta["settings"].update(planted_slowdown=0.1),
            "matrix settings['planted_slowdown'] was 0.1, is 0.0 now",
        ),
        (lambda meta: meta["host"].update(cpu_model="abacus"), "host['cpu_model'] was 'abacus'"),
        (
            lambda meta: meta["cells"]["event_window@small/fake/correct/w1"].update(workers=9),
            "['workers'] was 9, is 1 now",
        ),
        (lambda meta: meta["datasets"]["event_window@small"].update(id="ff"), "dataset of event_"),
    ],
)
def test_resume_is_refused_when_something_differs_and_names_it(
    capsys, matrix, same_source, change, named
):
    _, out, _ = run_lab(capsys, matrix(["correct"]))
    meta = read_meta(Path(out[-1]))
    change(meta)
    write_meta(Path(out[-1]), meta)
    code, _, err = run_lab(capsys, "--resume", out[-1])
    assert code == EXIT_USER_ERROR
    assert named in err and "cannot be resumed" in err


def test_a_run_that_another_process_works_on_is_not_resumed(capsys, matrix):
    _, out, _ = run_lab(capsys, matrix(["correct"]))
    run_dir = Path(out[-1])
    before = read_meta(run_dir)
    worker = (
        "import sys, pathlib; from lab.run_dir import hold\n"
        "with hold(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", worker, str(run_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        code, _, err = run_lab(capsys, "--resume", out[-1])
        assert code == EXIT_USER_ERROR
        assert f"is being worked on by process {other.pid}; wait for it or stop it" in err
        assert read_meta(run_dir) == before
        other.stdin.close()
    assert run_lab(capsys, "--resume", out[-1])[0] == EXIT_OK


def test_resume_with_another_matrix_is_refused(capsys, matrix):
    _, out, _ = run_lab(capsys, matrix(["correct"]))
    code, _, err = run_lab(capsys, matrix(["correct", "lose"], name="n"), "--resume", out[-1])
    assert code == EXIT_USER_ERROR
    assert "matrix cells['event_window@small/fake/lose/w1'] is new" in err


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
            "        runs DGS programs, queries of operators O+, ordered pipelines; not para",
        ),
        ("engines", "pipelines, takes a batch size, default for ordered pipelines\n"),
        ("engines", "answer, default for DGS programs, queries of operators O+ and ordered pipe"),
        ("figures", "stretch:6"),
        ("runs", "no runs in"),
    ],
)
def test_list_names_what_there_is(capsys, dataset, what, expected):
    assert call(["list", what]) == EXIT_OK
    assert expected in capsys.readouterr().out


def test_list_runs_shows_finished_and_damaged_ones(capsys, matrix, tmp_path):
    _, out, _ = run_lab(capsys, matrix(["correct"]))
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.json").write_text("{")
    assert call(["list", "runs"]) == EXIT_OK
    said = capsys.readouterr().out
    assert f"{out[-1]}  1 cells" in said and "complete" in said
    assert "broken" in said and "is damaged" in said


def test_a_run_records_how_an_elastic_operator_was_scaled(capsys, matrix):
    options = "{ scale_at_s = 0.65, capacity_eps = 1e6 }"
    _, out, err = run_lab(capsys, matrix(["correct"], options=options, more=LOAD))
    assert out, err
    run_dir = Path(out[-1])
    (row,) = read_run(run_dir).rows
    assert row["status"] in VERIFIED, row["reason"]
    assert (row["reconfiguration_count"], row["reconfiguration_max_ns"]) == (1, 1_000_000)
    assert (row["instances_min"], row["instances_max"], row["load_cov"]) == (1, 2, 0.0)
    assert row["comparisons"] == row["events"]
    (change,) = read_reconfigurations(run_dir / row["reconfigurations"])
    assert (change.at_ns, change.before, change.after) == (650_000_000, 1, 2)
    series = pq.read_table(run_dir / row["series"]).to_pylist()
    assert {one["instances"] for one in series if 0 <= one["t_ns"] < 600_000_000} == {1}
    assert [one["instances"] for one in series if one["t_ns"] == 600_000_000] == [2]
