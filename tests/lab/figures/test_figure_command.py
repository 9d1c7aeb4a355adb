"""`lab figure` from end to end, on real engines and a small input."""

import json
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call, progress
from streamlab.lab.figures.registry import PAPERS
from streamlab.results.meta import Revision
from streamlab.workloads.datasets.catalog import Catalog
from tests.lab.figures import toy
from tests.lab.runner.published import publish


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The directory of a finished figure, its runs, and what was printed."""
    import contextlib
    import io

    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("figure")
        patch.setenv("LAB_DATA", str(root / "catalogue"))
        patch.setenv("LAB_RUNS", str(root / "runs"))
        patch.setitem(PAPERS, "toy", "tests.lab.figures.toy")
        # A run is only resumed by the source that began it; somebody may be working on that now.
        patch.setattr(
            "streamlab.lab.runner.run_directory.revision",
            lambda: Revision(commit="c"),
        )
        patch.setattr(toy, "dataset", publish(Catalog.default()).id)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = call(["figure", "toy:1", "--workers", "1", "--out", str(root / "out")])
        assert code == EXIT_OK, said.getvalue()
        yield root, sorted((root / "runs").iterdir()), said.getvalue()


@pytest.fixture
def again(done):
    root, runs, _ = done

    def call_again(*arguments):
        return call(["figure", *arguments, "--out", str(root / "again")])

    return call_again, [str(run) for run in runs]


def test_a_figure_runs_its_stages_draws_and_prints_its_verdict(done):
    root, runs, said = done
    assert [run.name.partition("-")[2] for run in runs] == ["toy-1-rates", "toy-1-latency"]
    out = root / "out"
    assert {path.name for path in out.iterdir()} == {
        f"toy-1.{kind}" for kind in ("png", "svg", "pdf", "md", "csv", "json")
    }
    assert (out / "toy-1.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "toy-1.pdf").read_bytes().startswith(b"%PDF")
    record = json.loads((out / "toy-1.json").read_text())
    assert record["verdict"] == "reproduced"
    conditions = record["conditions"]
    assert conditions.startswith("usual lengths, 3 repetitions, ") and " of " in conditions
    assert f"toy:1: reproduced ({conditions}): " in said
    assert [run["run"] for run in record["runs"]] == [run.name for run in runs]
    assert record["published"][0]["source"] == "here"
    assert f"**Verdict: reproduced ({conditions}).**" in (out / "toy-1.md").read_text()
    assert Path(said.splitlines()[-1]) == out / "toy-1.json"


def test_finished_runs_are_used_again_and_nothing_is_run(again, done, capsys, monkeypatch):
    figure, runs = again
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0)
    arguments = ["toy:1", "--run", runs[0], "--run", runs[1], "--format", "svg"]
    assert figure(*arguments, "-q") == EXIT_OK
    assert capsys.readouterr().err == ""
    assert figure(*arguments) == EXIT_OK
    printed = capsys.readouterr().err
    assert "toy:1: judging the claims" in printed and "toy:1: drawing" in printed
    root, before, _ = done
    assert sorted((root / "runs").iterdir()) == before
    assert (root / "again" / "toy-1.svg").is_file()
    assert not (root / "again" / "toy-1.png").exists()


def test_a_figure_with_the_same_stages_takes_the_runs_of_another(again):
    figure, runs = again
    assert figure("toy:2", "--run", runs[0], "--run", runs[1], "--format", "svg") == EXIT_OK


def test_the_svg_of_one_run_is_the_same_each_time(again, done):
    figure, runs = again
    arguments = ("--run", runs[0], "--run", runs[1], "--format", "svg")
    root = done[0]
    assert figure("toy:1", *arguments) == EXIT_OK
    first = (root / "again" / "toy-1.svg").read_bytes()
    assert figure("toy:1", *arguments) == EXIT_OK
    assert (root / "again" / "toy-1.svg").read_bytes() == first


def test_a_run_with_other_options_is_refused(again, capsys):
    figure, runs = again
    assert figure("toy:1", "--run", runs[0], "--workers", "1,2") == EXIT_USER_ERROR
    assert "was run with workers = (1,), not (1, 2)" in capsys.readouterr().err


def test_a_run_of_the_wrong_stage_is_refused_with_the_cells_that_it_lacks(again, capsys):
    figure, runs = again
    assert figure("toy:1", "--run", runs[1], "--run", runs[0]) == EXIT_USER_ERROR
    errors = capsys.readouterr().err
    assert "cannot serve toy:1, rates: it lacks 2 of 2 cells" in errors
    assert "event_window@small/reference/sequential/w1" in errors


def test_more_runs_than_stages_are_refused(again, capsys):
    figure, runs = again
    assert figure("toy:1", *(3 * ["--run", runs[0]])) == EXIT_USER_ERROR
    assert "toy:1 has 2 stages (rates, latency), but got 3 runs" in capsys.readouterr().err


def test_a_finished_run_is_resumed_without_a_trial(again, done):
    figure, runs = again
    assert figure("toy:1", "--run", runs[0], "--resume", runs[1], "--format", "svg") == EXIT_OK
    assert sorted((done[0] / "runs").iterdir()) == done[1]


def test_an_error_of_a_later_stage_leaves_the_run_of_the_first(again, monkeypatch, capsys):
    figure, runs = again
    monkeypatch.setattr(toy, "broken", True)
    assert figure("toy:1", "--run", runs[0]) == EXIT_USER_ERROR
    assert "the second stage is broken" in capsys.readouterr().err


def test_a_dry_run_shows_the_cells_and_runs_nothing(again, done, capsys):
    figure, _ = again
    assert figure("toy:1", "--workers", "1,2", "--dry-run") == EXIT_OK
    output = capsys.readouterr().out
    assert "event_window@small/multicore/dgs/w2/b4096  x3" in output
    assert sorted((done[0] / "runs").iterdir()) == done[1]


@pytest.mark.usefixtures("done")
def test_the_missing_engine_of_a_figure_is_named_in_the_list_and_on_request(capsys):
    assert call(["list", "figures"]) == EXIT_OK
    said = capsys.readouterr().out
    assert "toy:1  a toy; available" in said
    assert "toy:3  impossible; not available: missing workload no_such_workload" in said
    assert call(["figure", "toy:3"]) == EXIT_USER_ERROR
    said = capsys.readouterr().err
    assert "missing workload no_such_workload, variant none of engine multicore" in said
    assert "nowhere" in said


def test_an_unknown_figure_lists_those_that_exist(capsys):
    assert call(["figure", "stretch:99"]) == EXIT_USER_ERROR
    assert "did you mean stretch:" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "1,x", "", "-1"])
def test_workers_must_be_numbers_from_one(text, capsys):
    assert call(["figure", "stretch:6", f"--workers={text}"]) == EXIT_USER_ERROR
    assert "not a list of whole numbers of at least 1" in capsys.readouterr().err


def test_a_record_says_the_intervals_by_which_its_claims_were_judged(done):
    record = json.loads((done[0] / "out" / "toy-1.json").read_text())
    (claim,) = record["claims"]
    assert (claim["outcome"], claim["repetitions"]) == ("met", 3)
    assert 1e-6 < claim["low"] < claim["high"]
    assert record["confidence"] == 0.95
    page = (done[0] / "out" / "toy-1.md").read_text()
    assert "interval of 3 repetitions from" in page
    assert f">{record['text']}</text>" in (done[0] / "out" / "toy-1.svg").read_text()


@pytest.mark.full
@pytest.mark.usefixtures("done")
def test_a_quick_figure_indicates_in_what_is_printed_recorded_and_drawn(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    out = tmp_path / "quick"
    arguments = (
        "--quick",
        "--workers",
        "1",
        "--repetitions",
        "2",
        "--format",
        "svg",
        "--out",
        str(out),
    )
    assert call(["figure", "toy:1", *arguments, "--out", str(out)]) == EXIT_OK
    assert "toy:1: indicates: reproduced (quick lengths, 2 repe" in capsys.readouterr().out
    record = json.loads((out / "toy-1.json").read_text())
    assert (record["verdict"], record["indicates"]) == ("indication", "reproduced")
    (claim,) = record["claims"]
    assert (claim["outcome"], claim["indicates"], claim["low"]) == ("inconclusive", "met", None)
    assert "**No verdict; it indicates: reproduced (quick" in (out / "toy-1.md").read_text()
    assert ">indicates: reproduced (quick" in (out / "toy-1.svg").read_text()
    assert ">QUICK RUN<" in (out / "toy-1.svg").read_text()
