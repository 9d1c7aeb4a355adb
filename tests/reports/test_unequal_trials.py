"""Cells whose trials differ by more than the noise of their run explains are reported."""

import pytest

from streamlab.reports.run_warnings import unequal_trials, warnings_of
from tests.results.records import trial_row


@pytest.fixture
def cell(trial):
    """A function that returns the trials of a cell from how long each took."""

    def make(engine, *durations_s, **more):
        return [
            trial_row(trial(engine, repetition=number, duration_s=duration_s, **more))
            for number, duration_s in enumerate(durations_s, 1)
        ]

    return make


def test_a_cell_whose_first_trial_was_slow_is_reported_where_others_repeat(cell):
    rows = cell("a", 1.0, 0.5, 0.5) + cell("b", 1.0, 1.05, 1.0) + cell("c", 2.0, 2.06, 2.0)
    ((text, count),) = unequal_trials(rows).items()
    assert "/a/" in text and count == 3
    assert "its 3 trials took 0.5 to 1 s and differ by 100%, trials of other cells by 4%" in text
    assert [found.text for found in warnings_of(rows)] == [text]


def test_no_cell_is_reported_where_all_are_noisy(cell):
    rows = cell("a", 1.0, 0.5, 0.5) + cell("b", 1.0, 1.3, 1.0) + cell("c", 2.0, 2.8, 2.0)
    assert unequal_trials(rows) == {}


def test_a_cell_alone_is_reported_from_half_as_much_again(cell):
    assert unequal_trials(cell("a", 1.0, 1.49, 1.0)) == {}
    assert len(unequal_trials(cell("a", 1.0, 1.51, 1.0))) == 1


def test_two_trials_unverified_ones_and_loads_show_no_noise(cell):
    assert unequal_trials(cell("a", 1.0, 5.0)) == {}
    assert unequal_trials(cell("a", 1.0, 5.0, 1.0, status="invalid")) == {}
    assert unequal_trials(cell("a", 1.0, 5.0, 1.0, load='{"rate_eps": 1}')) == {}
