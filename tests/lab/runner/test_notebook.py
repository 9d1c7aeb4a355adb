"""`lab.run(...)`, in a plain Python process as a notebook has one."""

import html
import inspect
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

import streamlab as lab
from streamlab.lab import notebook
from streamlab.lab.errors import LabError
from streamlab.lab.runner.execution import execute
from streamlab.workloads.suite.wordcount import WORKLOAD
from tests.processes import run_python

DOCUMENT = Path(__file__).parents[3] / "docs" / "running.md"


@pytest.mark.full  # 15 CPU seconds; the tests below call the same function
def test_the_documents_example_runs_in_a_plain_process(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    places = {"XDG_DATA_HOME": str(tmp_path), "LAB_RUNS": "", "LAB_DATA": ""}
    done = run_python("-W", "error", "-c", code, cwd=tmp_path, environ=places)
    assert done.returncode == 0, done.stderr
    for pattern in (
        r"^event_window +multicore +1 +\d",
        r"^ +2 +\d",
        r"^wordcount +multicore +1 +\d",
    ):
        assert re.search(pattern, done.stdout, flags=re.MULTILINE), done.stdout
    page = Path(done.stdout.splitlines()[-1])
    assert page.is_file() and page.parents[1] == tmp_path / "lab" / "runs"


def test_a_run_is_a_frame_with_a_row_a_trial_and_shows_itself_as_the_tables_of_the_page(dataset):
    run = lab.run(
        workloads=["event_window"],
        engines=["fake/correct", "fake/lose"],
        dataset=dataset[:12],
        repetitions=2,
        options={"capacity_eps": 1_000_000},
    )
    frame = run.frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["status"].to_list() == ["ok", "wrong_output", "wrong_output", "ok"]
    assert frame["repetition"].dtype == pd.Int64Dtype()
    assert frame["throughput_eps"].notna().to_list() == [True, False, False, True]
    assert "4 trials, 2 ok, 2 wrong_output" in repr(run)

    shown = run._repr_html_()
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])
    assert 'id="results"' in page and 'id="without-number"' in page
    cells = re.findall(r'data-cell="([^"]*)"', page)
    assert cells == list(dict.fromkeys(run.frame()["cell"])) and "wrong_output" in page
    table = re.search(r"<table class=\"headline.*?</table>", page, flags=re.DOTALL)[0]
    assert table in run.report().read_text()
    assert 'sandbox="allow-scripts"' in shown


def test_a_run_gives_its_summary_ratios_and_figure(dataset):
    def measure():
        arguments = {
            "dataset": dataset[:12],
            "repetitions": 2,
            "options": {"capacity_eps": 1_000_000},
        }
        return lab.run(
            workloads=["event_window"], engines=["fake/correct", "fake/lose"], **arguments
        )

    old, new = measure(), measure()
    summary = new.summary()
    assert summary["status"].to_list() == ["ok", "wrong_output"]
    assert summary["n"].to_list() == [2, 2]
    rates = new.frame().query("status == 'ok'")["throughput_eps"]
    assert summary["throughput_eps"][0] == rates.median() and summary["throughput_eps"].isna()[1]
    assert summary["lowest_eps"][0] == rates.min() and summary["highest_eps"][0] == rates.max()
    compared = new.compare(old, metrics=["throughput"])
    (ratio,) = compared["ratio"]
    assert ratio == compared["new"][0] / compared["old"][0] == rates.median() / compared["old"][0]
    with pytest.raises(LabError, match="metrics has 'speed'; use some of"):
        new.compare(old.path, metrics=["speed"])
    assert new.figure().axes and new.figure("event_window").axes
    with pytest.raises(LabError, match="give one with verified rates: event_window"):
        new.figure("wordcount")


def test_a_run_under_a_load_gives_its_answer(tmp_path):
    load = {"rate_eps": 2_000, "warm_up_s": 0.2, "window_s": 0.5}
    run = lab.run(
        workloads=["event_window"],
        engines=["fake/correct"],
        events=4_000,
        params={"values_per_barrier": 10},
        load=load,
    )
    assert run.frame()["offered_eps"].to_list() == [pytest.approx(2_000)]
    answers = run.answers()
    assert list(answers.columns) == ["ts", "sum"] and len(answers) > 0


def test_progress_and_ignored_workers_are_printed_unless_it_is_quiet(dataset, capfd):
    arguments = {"dataset": dataset[:12], "workers": [1, 2]}
    run = lab.run(workloads=["event_window"], engines=["reference"], **arguments)
    assert run.frame()["workers"].to_list() == [1]
    lines = capfd.readouterr().err.splitlines()
    note = "lab: reference is sequential: it runs with 1 worker and ignores workers = 1, 2"
    assert lines[0] == note and lines[-1].startswith("[1/1] event_window@")
    lab.run(workloads=["event_window"], engines=["fake/correct"], dataset=dataset, quiet=True)
    assert capfd.readouterr().err == ""


def test_a_matrix_is_run_and_cells_are_chosen(matrix):
    path = matrix(["correct", "lose"])
    run = lab.run(path, only=["*/correct/*"])
    assert run.frame()["variant"].to_list() == ["correct"]


def test_a_helper_may_be_edited_between_two_runs_of_one_process(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    file, helper = tmp_path / "own.py", tmp_path / "helper_of_own.py"
    file.write_text(
        "from helper_of_own import made\nfrom streamlab import workload\n"
        "from streamlab.workloads.suite.keyed_counter.program import PROGRAM\n"
        "WORKLOAD = workload(PROGRAM, input=made)\n"
    )
    made = (
        "def made(events, seed):\n"
        "    for ts in range(events):\n"
        "        kind = 'increment' if ts % 10 else 'read_reset'\n"
        "        yield {'ts': ts, 'key': ts % NUMBER, 'kind': kind}\n"
    )
    inputs = set()
    for number in (2, 3):
        helper.write_text(made.replace("NUMBER", str(number)))
        run = lab.run(workloads=[str(file)], engines=["reference"], events=100)
        assert run.frame()["status"].to_list() == ["ok"]
        inputs |= set(run.frame()["dataset"])
    assert len(inputs) == 2
    del sys.modules["helper_of_own"]


HERE = {"workloads": ["wordcount"], "engines": ["reference"]}


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        ((), {}, "workloads is (); give a list"),
        ((), {"workloads": "wordcount", "engines": ["fake"]}, "workloads is 'wordcount'; give a"),
        *(
            ((), {**HERE, "workers": workers}, f"workers is {workers!r}; use whole numbers of at")
            for workers in (0, [0], [-1], [1.5], ["2"])
        ),
        (("m.toml",), {"workers": [1]}, "workers cannot be combined with a matrix"),
        ((), {"worker": [1]}, "lab.run: there is no argument 'worker'; did you mean workers"),
        (("m.toml", "o"), {}, "lab.run: only matrix may be positional, got 2 values"),
        (("gone.toml",), {}, "gone.toml: cannot read the matrix"),
    ],
)
def test_impossible_runs_are_refused(positional, named, message):
    with pytest.raises(LabError, match=re.escape(message)):
        lab.run(*positional, **named)


def test_a_misspelt_workload_gets_a_suggestion():
    with pytest.raises(LabError, match=r"did you mean wordcount\?"):
        lab.run(workloads=["wordcuont"], engines=["fake"])


def test_a_workload_that_another_process_could_not_find_is_refused():
    with pytest.raises(LabError, match="give the path of that file"):
        lab.run(workloads=[WORKLOAD], engines=["fake"])


def test_it_is_a_plain_function_also_when_the_parent_of_trials_was_imported():
    assert inspect.isfunction(lab.run) and lab.run is notebook.run
    assert execute.__module__ == "streamlab.lab.runner.execution"
    assert lab.run.__doc__ is not None and "workloads" in inspect.signature(lab.run).parameters
