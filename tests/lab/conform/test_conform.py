"""`lab conform` and its pytest form, on engines that somebody installed."""

import json
import os

import pytest

from streamlab.lab.cli import EXIT_ENGINE_FAILURE, EXIT_OK, EXIT_USER_ERROR, EXIT_WRONG_OUTPUT, call

pytest_plugins = ["pytester"]

# The session is in this process, which has imported the plugin and the finder before.
IMPORTED = "ignore:Module already imported so cannot be rewritten"

CODE = """
import os
import numpy as np
from streamlab.engine import BatchEngine
from streamlab.workloads.datasets.total_order import total_order

def right(task, data):
    events = total_order(data, np.dtype([("value", np.int64)]))
    barrier = events.kind == 1
    sums = np.cumsum(np.where(barrier, 0, events.payload["value"]))[barrier]
    return {"ts": events.ts[barrier], "sum": np.diff(sums, prepend=0)}

def wrong(task, data):
    answer = right(task, data)
    return {**answer, "sum": answer["sum"] + 1}

def dies(task, data):
    os._exit(7)

class Mine(BatchEngine):
    name = "mine"
    queries = {"event_window": right, "fraud_detection": wrong, "keyed_counter": dies}

class Wrong(Mine):
    name = "wrong"
    queries = {"event_window": wrong}
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Engines `mine` and `wrong`, known to this process and to those that it starts."""
    (tmp_path / "engines_of_mine.py").write_text(CODE)
    info = tmp_path / "engines_of_mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: engines_of_mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[lab.engines]\nmine = engines_of_mine:Mine\nwrong = engines_of_mine:Wrong\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), known])))
    return tmp_path


def test_right_cases_are_counted_and_refused_ones_have_a_reason(installed, capsys):
    arguments = ("--workload", "wordcount", "--workload", "event_window", "--workload", "paircount")
    assert call(["conform", "mine", *arguments]) == EXIT_OK
    head, row, refused, unsupported, why = capsys.readouterr().out.splitlines()
    assert head.split() == ["workload", "variant", "right", "refused", "wrong", "crash"]
    assert row.split() == ["event_window", "batch", "7", "1", "0", "0"]
    assert refused.strip() == (
        "refused: more workers than streams: mine has at most 1 worker, got 6"
    )
    assert unsupported == "unsupported, 2: wordcount (batch), paircount (batch)"
    assert "no query for wordcount" in why


def test_a_wrong_answer_is_shown_with_its_first_difference(installed, capsys):
    assert call(["conform", "wrong", "--workload", "event_window"]) == EXIT_WRONG_OUTPUT
    output = capsys.readouterr().out
    assert "wrong: an ordinary input (and " in output
    assert "row 0: (ts=49, sum=" in output


def test_a_case_that_takes_its_process_down_is_a_crash(installed, capsys):
    assert call(["conform", "mine", "--workload", "keyed_counter"]) == EXIT_ENGINE_FAILURE
    output = capsys.readouterr().out
    assert "crash: an ordinary input: its process ended with code 7" in output


def test_as_json_every_case_has_its_state(installed, capsys):
    assert call(["conform", "mine", "--workload", "event_window", "--json"]) == EXIT_OK
    (one,) = json.loads(capsys.readouterr().out)
    assert one["variant"] == "batch" and one["workload"] == "event_window"
    assert {case["state"] for case in one["cases"]} == {"right", "refused"}
    assert len(one["cases"]) == 8


def test_an_impossible_case_is_a_user_error(installed, capsys):
    for asked, message in (
        (["nosuch"], "no engine 'nosuch'"),
        (["mine", "--variant", "fast"], "engine mine has no variant 'fast'; there is batch"),
        (["mine", "--workload", "nosuch"], "no workload 'nosuch'"),
        (["mine", "--workload", "wordcount"], "supports none of these workloads"),
    ):
        assert call(["conform", *asked]) == EXIT_USER_ERROR
        errors = capsys.readouterr().err
        assert message in errors and "Traceback" not in errors


def session(pytester, *arguments):
    return pytester.runpytest_inprocess(
        "-p", "streamlab.lab.pytest_plugin", "-W", "error", "-W", IMPORTED, *arguments
    )


def test_pytest_has_an_item_for_each_workload_of_an_engine(installed, pytester):
    arguments = ("--lab-workload", "event_window", "--lab-workload", "wordcount")
    done = session(pytester, "-rs", "--lab-engine", "mine", *arguments)
    done.assert_outcomes(passed=1, skipped=1)
    done.stdout.fnmatch_lines(["*no query for wordcount*"])
    done = session(pytester, "--lab-engine", "wrong", "--lab-workload", "event_window")
    done.assert_outcomes(failed=1)
    cases = ("an ordinary input", "a single stream")
    done.stdout.fnmatch_lines([f"*wrong/batch on event_window, {one}: wrong: *" for one in cases])
    done = session(pytester, "--lab-engine", "nosuch")
    done.stderr.fnmatch_lines(["*no engine 'nosuch'*"])


def test_the_fixture_fails_where_the_engine_is_wrong_or_has_no_answer(installed, pytester):
    pytester.makepyfile("""
def test_right(lab_conform):
    (found,) = lab_conform("mine", "event_window")
    assert len(found.cases) == 8

def test_wrong(lab_conform):
    lab_conform("wrong", "event_window")

def test_not_there(lab_conform):
    lab_conform("mine", "wordcount")
""")
    done = session(pytester)
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["*mine on wordcount: mine/batch has no query for wordcount*"])
