import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lab.cli
from engines.conformance import ordinary_input
from lab.cli import (
    EXIT_ENGINE_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USER_ERROR,
    EXIT_WRONG_OUTPUT,
    call,
)
from results.store import finished, read_meta, read_run, write_meta
from workloads.datasets.catalog import Catalog
from workloads.datasets.manifest import Content
from workloads.datasets.stream_file import write_stream
from workloads.registry import workload

ROOT = Path(lab.cli.__file__).parents[2]


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """Id of a small event_window dataset in a catalogue of its own, made without Spark."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "200")
    data = ordinary_input(workload("event_window"))
    catalog = Catalog.default()
    with catalog.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        streams = tuple(
            write_stream(
                folder,
                stream.name,
                stream.kinds,
                {"ts": stream.ts.dtype} | {k: v.dtype for k, v in stream.payload.items()},
                [{"ts": stream.ts, **stream.payload}],
            )
            for stream in data.streams
        )
        content = Content(
            workload="event_window",
            alphabet=data.alphabet,
            streams=streams,
            origin={"generator": "event_window", "seed": 7},
            source="test",
            licence="CC0-1.0",
        )
        return catalog.publish(folder, content).id


@pytest.fixture
def matrix(tmp_path, dataset):
    """A function that writes a matrix of fake cells and returns its path."""

    def write(variants, *, repetitions=1, options="{ rate_eps = 100_000 }", name="m"):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f"[run]\nrepetitions = {repetitions}\ntimeout_s = 60\n"
            f'[[workload]]\nname = "event_window"\ndataset = "{dataset[:12]}"\nlabel = "small"\n'
            f'[[engine]]\nname = "fake"\nvariants = {json.dumps(variants)}\noptions = {options}\n'
        )
        return path

    return write


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
        (["--resume", "."], "is not a run"),
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


def interrupted(path, tmp_path, after_trials):
    """Start `lab run` as a person would, press Ctrl-C after some trials; process and run."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lab", "run", str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        logs = list((tmp_path / "runs").glob("*/logs/event_window*.log"))
        if len(logs) > after_trials and any("# phase: run" in log.read_text() for log in logs):
            break
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.splitlines(), err


def test_interrupted_run_stops_cleanly_and_is_completed_by_resume(capsys, matrix, tmp_path):
    path = matrix(["correct"], repetitions=3, options="{ rate_eps = 1_000 }")
    code, out, err = interrupted(path, tmp_path, after_trials=1)
    run_dir = Path(out[-1])
    assert code == EXIT_INTERRUPTED
    assert f"lab run --resume {run_dir}" in err
    before = finished(run_dir)
    assert 1 <= len(before) < 3
    assert len(read_run(run_dir).rows) == len(before)
    assert not read_meta(run_dir)["complete"]

    code, out, err = run_lab(capsys, "--resume", run_dir)
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
        (lambda meta: meta["host"].update(cpu_model="abacus"), "host['cpu_model'] was 'abacus'"),
        (
            lambda meta: meta["cells"]["event_window@small/fake/correct/w1"].update(workers=9),
            "['workers'] was 9, is 1 now",
        ),
        (lambda meta: meta["datasets"]["event_window@small"].update(id="ff"), "dataset of event_"),
    ],
)
def test_resume_is_refused_when_something_differs_and_names_it(capsys, matrix, change, named):
    _, out, _ = run_lab(capsys, matrix(["correct"]))
    meta = read_meta(Path(out[-1]))
    change(meta)
    write_meta(Path(out[-1]), meta)
    code, _, err = run_lab(capsys, "--resume", out[-1])
    assert code == EXIT_USER_ERROR
    assert named in err and "cannot be resumed" in err


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
        ("figures", "no figures yet"),
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
