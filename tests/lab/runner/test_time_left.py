from dataclasses import replace

from streamlab.lab.matrix.cells import expand, interleave
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.lab.runner.time_left import TimeLeft

MATRIX = """
[run]
first = ["fake"]
[[workload]]
name = "event_window"
[[engine]]
name = "fake"
variants = ["correct"]
workers = [1, 2]
[[engine]]
name = "reference"
repetitions = 2
"""


def time_left(text=MATRIX):
    trials = interleave(expand(parse_matrix(text, "m.toml")))
    return trials, TimeLeft(trials)


def test_a_trial_takes_as_long_as_the_others_of_its_cell_or_variant_or_else_as_all():
    trials, left = time_left()
    left.record(trials[0], 2)
    assert left.later_s(trials[0]) == 2 + 2 * 2
    left.record(trials[1], 4)
    assert left.later_s(trials[1]) == 2 * 3
    left.record(trials[2], 9)
    assert left.later_s(trials[2]) == 9
    assert left.later_s(trials[3]) == 0


def test_the_matrix_says_how_long_trials_of_an_engine_take_until_one_was_measured():
    trials, left = time_left(MATRIX + "trial_s = 30\n")
    left.record(trials[0], 2)
    assert left.later_s(trials[0]) == 2 + 2 * 30
    left.record(trials[2], 9)
    assert left.later_s(trials[2]) == 9


def test_a_trial_that_starts_and_those_that_follow_are_estimated_apart():
    trials, left = time_left()
    assert left.expected_s(trials[0]) is None
    left.record(trials[0], 10)
    assert left.later_s(trials[0]) == 10 + 2 * 10
    assert left.expected_s(trials[1]) == (10, 2 * 10)
    left.record(trials[1], 90)
    assert left.later_s(trials[1]) == 2 * 50


def test_nothing_is_left_after_votes_of_searches():
    trials, left = time_left()
    vote = replace(trials[-1], order_index=len(trials) + 5)
    left.record(vote, 2)
    assert left.later_s(vote) == 0
