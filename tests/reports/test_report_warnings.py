"""Warnings of a run: each kind once, with its number of trials, and cells of unequal trials."""

import json
import re
from html import unescape

import pytest

from streamlab.reports.run_warnings import unequal_trials, warnings_of
from tests.results.records import trial_row


def box(page):
    found = re.search(r'<details class="warnings".*?</details>', page, re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[0])).split()) if found else ""


def warned(trial, repetition, *texts, engine="multicore", **more):
    return trial(engine, repetition=repetition, warnings=json.dumps(texts), **more)


def test_each_kind_of_warning_is_counted_by_trials(shown, trial):
    page, _ = shown(
        [
            warned(trial, 1, "load average 3.10 on 2 cores", "turbo is on: speed varies"),
            warned(trial, 2, "load average 4.20 on 2 cores", "load average 4.30 on 2 cores"),
            trial(repetition=3),
        ]
    )
    text = box(page)
    assert "load average 3.10 to 4.30 on 2 cores · 2 of 3 trials" in text
    assert "turbo is on: speed varies · 1 of 3 trials" in text


def test_each_number_that_differs_between_trials_is_a_range(trial):
    texts = ("99.5% of 1,200 rows, at 3.13.1", "9.5% of 1,200 rows, at 3.13.1")
    rows = [trial_row(warned(trial, n, text)) for n, text in enumerate(texts, 1)]
    (warning,) = warnings_of(rows)
    assert warning.text == "9.5 to 99.5% of 1,200 rows, at 3.13.1"


def test_a_doubt_names_the_variants_whose_trials_it_concerns(shown, trial):
    kernel, load = "62% was the kernel's", "load average 3.10"
    page, _ = shown(
        [
            *(warned(trial, n, load) for n in range(1, 4)),
            warned(trial, 4, load, kernel),
            warned(trial, 1, load, kernel, engine="spark", variant="cached"),
            warned(trial, 2, load, "71% was the kernel's", engine="spark", variant="cached"),
        ]
    )
    assert "3 of 6 trials: Spark SQL, cached 2 of 2, multicore 1 of 4" in box(page)
    assert "load average 3.10 · 6 of 6 trials " in box(page) + " "
    assert "6 of 6 trials:" not in box(page)


def test_a_doubt_about_many_variants_names_some_and_counts_the_others(shown, trial):
    rows = [warned(trial, 1, "odd", engine=f"engine{n}", variant="") for n in range(8)]
    page, _ = shown([*rows, trial("sound")])
    assert "8 of 9 trials: engine0 1 of 1, engine1 1 of 1, " in box(page)
    assert box(page).endswith("engine5 1 of 1, 2 more variants")


def test_warnings_are_escaped(shown, trial):
    page, _ = shown([warned(trial, 1, "governor is <b>ondemand</b>")])
    assert "governor is &lt;b&gt;ondemand" in page
    assert "<b>" not in page


def test_without_a_warning_there_is_no_box(shown, trial):
    page, _ = shown([warned(trial, 1), trial(repetition=2)])
    assert not box(page)


def test_a_rate_above_half_of_the_ceiling_is_flagged(shown, offered):
    near, _ = shown([offered(rate_eps=20_000.0, generator_ceiling_eps=39_000.0)], name="near")
    assert "the offered rate is above half of its generator's highest rate" in box(near)
    assert "above half of the generator's highest rate" in near
    far, _ = shown([offered(rate_eps=20_000.0, generator_ceiling_eps=41_000.0)], name="far")
    assert not box(far)


def test_ceilings_and_unknown_ones_stand_in_the_box(shown, offered):
    meta = {
        "generators": {
            "multicore/dgs/b4096": {"ceiling_eps": 4.2e7, "reason": None},
            "other/x/b1": {"ceiling_eps": None, "reason": "it crashed"},
        }
    }
    page, _ = shown([offered()], meta=meta)
    assert "multicore/dgs/b4096 42.0 M/s" in box(page)
    assert "The ceiling of the generator of other/x/b1 is unknown: it crashed" in box(page)


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
