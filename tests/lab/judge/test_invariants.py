"""Windows of arrival time have no known answer; invariants accept every right one, and find damage."""

import numpy as np
import pytest

from streamlab.engines.fake.damage import DAMAGES
from streamlab.lab.judge.invariants import Arrivals, violated_invariant
from streamlab.lab.judge.judgement import judge
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.trial.evidence import write_evidence
from streamlab.lab.trial.process import gather
from streamlab.lab.trial.report import Reporter
from streamlab.workloads.registry import workload
from tests.lab.engine_trial import engine_trial
from tests.workloads.declarative.arrival_workloads import (
    MS,
    answer_at,
    arrival_windows,
    dataset_of,
)

SECOND_NS = 1_000 * MS


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Sliding windows, their input and the due times of its rows, within a second."""
    subject = arrival_windows()
    dataset = dataset_of(subject, tmp_path_factory.mktemp("arrivals"))
    due_ns = np.sort(np.random.default_rng(1).integers(0, SECOND_NS, dataset.events))
    return subject, dataset, due_ns


def problem_of(case, damage=lambda answer: answer, delay_ns=0):
    subject, dataset, due_ns = case
    answer = damage(answer_at(subject, dataset, due_ns + delay_ns))
    arrivals = Arrivals(due_ns=due_ns, end_ns=SECOND_NS, tick_ns=MS)
    totals = subject.oracle(dataset.load())
    step, keys = subject.declaration.step, subject.declaration.keys
    return violated_invariant(step, keys, answer, totals, arrivals)


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_is_right_whenever_the_rows_arrive_after_their_due_times(case, seed):
    due_ns = case[2]
    delays = np.random.default_rng(seed).integers(0, 10**seed, len(due_ns))
    assert problem_of(case, delay_ns=np.minimum(delays, SECOND_NS - due_ns)) is None


def test_tumbling_windows_without_a_key_have_totals_too(case, tmp_path):
    subject = arrival_windows(every=None, key=None)
    assert problem_of((subject, dataset_of(subject, tmp_path), case[2])) is None


def changed(name, change):
    """Return a damage that changes a column's middle value."""

    def damage(answer):
        column = answer[name].copy()
        column[len(column) // 2] = change(column[len(column) // 2])
        return {**answer, name: column}

    return damage


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("rides", lambda old: old + 1, "rides (count) of all rows of {'station': "),
        ("rides", lambda old: -old, "a window has -"),
        ("seconds", lambda old: old - 1, "seconds (sum) of all rows"),
        ("price", lambda old: old * 1.001, "price (sum) of all rows"),
        ("price", lambda old: np.nan, "price (sum) of all rows"),
        ("mean", lambda old: old + 0.01, "mean (mean) of all rows"),
        ("highest", lambda old: 21.0, "highest (max) of all rows"),
        ("lowest", lambda old: 29, "lowest (min) of all rows"),
        ("station", lambda old: 99, "the key {'station': 99} is not in the input"),
        ("ts", lambda old: old + 1, ", no multiple of 10"),
    ],
)
def test_a_changed_value_is_found(case, name, change, words):
    assert words in problem_of(case, changed(name, change))


def test_percentiles_lie_on_both_sides_of_that_of_all_rows(case):
    doubled = problem_of(case, lambda answer: {**answer, "median": answer["median"] * 0 + 50})
    assert "median (percentile) of all rows" in doubled


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lose", "rides (count) of all rows of "),
        ("duplicate", "a window of a key has two results"),
        ("corrupt", "rides (count) of all rows of "),
        ("reorder", " follows a later one"),
    ],
)
def test_every_damage_is_found(case, name, words):
    assert words in problem_of(case, lambda answer: DAMAGES[name](answer, case[0].output))


def test_no_answer_at_all_lacks_all_rows(case):
    empty = problem_of(case, lambda answer: {name: column[:0] for name, column in answer.items()})
    assert "the windows' add up to 0" in empty


def test_no_row_counts_before_it_is_due_or_after_the_end(case):
    assert "were due by then" in problem_of(case, delay_ns=-100 * MS)
    assert "after the end of the run" in problem_of(case, delay_ns=SECOND_NS)


OWN_FILE = """
from tests.workloads.declarative.arrival_workloads import arrival_windows

arrivals = arrival_windows()
"""
LOAD = LoadSpec(arrival="constant", rate_eps=1_000, warm_up_s=0.1, window_s=0.2)


@pytest.mark.parametrize(
    ("variant", "status"),
    [
        ("correct", "ok"),
        ("lose", "wrong_output"),
        ("duplicate", "wrong_output"),
        ("corrupt", "wrong_output"),
        ("reorder", "wrong_output"),
    ],
)
def test_the_judge_checks_a_trial_by_invariants(tmp_path, variant, status):
    path = tmp_path / "arrivals.py"
    path.write_text(OWN_FILE)
    subject = workload(str(path))
    job = engine_trial(
        dataset=dataset_of(subject, tmp_path), workload=str(path), load=LOAD, variant=variant
    )
    write_evidence(gather(job, tmp_path, Reporter()), tmp_path)
    row = judge(job, tmp_path, None).columns
    assert row["status"] == status, row["reason"]
    assert (row["checked_by"], row["at_end"], row["events"]) == ("invariants", "flush", 300)
    assert (row["difference"] is None) == (status == "ok")
