"""The plugin inside a pytest session of its own, on the lab's own engines."""

import sys
from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog
from tests.lab.runner.published import publish

pytest_plugins = ["pytester"]

# Of the finder of an editable install, and of the plugin, which this process has imported before.
IMPORTED = "ignore:Module already imported so cannot be rewritten"


def test_pytest_ignores_warnings_about_the_finder_of_an_editable_install():
    finder = sys.modules.get("_editable_skbc_stream_lab")
    if finder is None:
        pytest.skip("the lab is not installed from its tree")
    assert "PYTEST_DONT_REWRITE" in (finder.__doc__ or ""), "`make setup` marks it"


@pytest.fixture
def session(pytester, tmp_path, monkeypatch):
    """A function that runs test functions in a session with the plugin; DATASET is an input."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setenv("COLUMNS", "300")
    catalogue = tmp_path / "catalogue"
    dataset = publish(Catalog(root=catalogue)).id

    def run(source, *arguments, how=pytester.runpytest_inprocess):
        pytester.makepyfile(f"DATASET = {dataset!r}\n{source}")
        return how(
            *("-p", "streamlab.lab.pytest_plugin", "--lab-data", str(catalogue)),
            *("-W", "error", "-W", IMPORTED, *arguments),
        )

    return run


def test_a_verified_trial_gives_the_test_its_row(session):
    done = session("""
def test_rate(lab_trial):
    row = lab_trial(
        "event_window", engine="fake", dataset=DATASET, options={"capacity_eps": 100_000}, timeout_s=600
    )
    assert row["status"] == "ok"
    assert row["outputs"] == row["expected_outputs"] > 0
    assert abs(row["throughput_eps"] / 100_000 - 1) < 0.5
    assert row["workers"] == 1 and row["dataset"] == DATASET
""")
    done.assert_outcomes(passed=1)


def test_a_trial_that_is_not_verified_fails_the_test_with_its_reason(session):
    done = session("""
def test_loses(lab_trial):
    lab_trial("event_window", engine="fake", variant="lose", dataset=DATASET)

def test_refuses(lab_trial):
    lab_trial("event_window", engine="fake", dataset=DATASET, options={"refuse": "no windows"})
""")
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(
        ["*event_window*/fake/lose/w1: wrong_output: *1 missing*", "*: unsupported: no windows *"]
    )


def test_a_refused_trial_fails_the_test_with_the_words_of_the_lab(session):
    done = session("""
def test_engine(lab_trial):
    lab_trial("event_window", engine="nosuch", dataset=DATASET)

def test_search(lab_trial):
    lab_trial("event_window", dataset=DATASET, load={"search": "sustainable"})

def test_load(lab_trial):
    lab_trial("event_window", dataset=DATASET, load={"rate_eps": "fast"})
""")
    done.assert_outcomes(failed=3)
    done.stdout.fnmatch_lines(
        [
            "*no engine 'nosuch'; `lab list engines`*",
            "*put a search in a matrix*",
            "*key rate_eps is 'fast'*",
        ]
    )


def test_a_misspelt_argument_is_a_type_error_in_a_process_of_its_own(session, pytester):
    source = """
def test_worker(lab_trial):
    lab_trial("event_window", worker=2)
"""
    done = session(source, how=pytester.runpytest_subprocess)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*TypeError*unexpected keyword argument 'worker'*"])
