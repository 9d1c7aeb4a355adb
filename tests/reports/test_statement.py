"""The colours and the signs of verdicts."""

import pytest

from streamlab.reports.page.statement import statement
from streamlab.reports.summary import summarise
from tests.results.records import trial_row


def cells(rows):
    """Return the cells of rows that have every column, as in a stored run."""
    return summarise(map(trial_row, rows))


@pytest.mark.parametrize(
    ("status", "mark", "words"),
    [
        ("ok", "good", "All answers are right"),
        ("unsteady", "doubt", "not every cell kept up"),
        ("unsustained", "doubt", "not every cell kept up"),
        ("unsupported", "bad", "No cell has a verified number"),
        ("crash", "bad", "No cell has a verified number"),
    ],
)
def test_a_verdicts_colour_goes_with_its_words(offered, status, mark, words):
    shown = statement(cells([offered(status=status)]))
    assert shown.mark == mark and words in shown.verdict


@pytest.mark.parametrize(
    ("rates", "mark", "words"),
    [
        ([1e8], "good", "Each cell ran once, so its noise is unknown."),
        ([1e8, 1.1e8], "good", "Repetitions of a cell differ by 10%."),
        ([1e8, 2e8], "doubt", "differ by 100%. Only large ratios mean anything."),
    ],
)
def test_the_noise_is_stated_and_much_of_it_is_a_doubt(trial, rates, mark, words):
    shown = statement(cells(trial(repetition=n, eps=eps) for n, eps in enumerate(rates, 1)))
    assert shown.mark == mark and words in shown.noise


def test_an_incomplete_run_is_neither_good_nor_a_failure(trial):
    once = cells([trial()])
    for incomplete in ({"missing": ["another"]}, {"complete": False}):
        shown = statement(once, **incomplete)
        assert shown.mark == "doubt" and "incomplete" in shown.verdict


def test_an_unsupported_cell_is_no_failure_if_another_is_right(trial):
    rows = [trial(), trial("spark", variant="streaming", status="unsupported")]
    assert statement(cells(rows)).mark == "good"


@pytest.mark.parametrize(
    ("status", "colour"),
    [("unsteady", "marked"), ("unsupported", "unsupported"), ("crash", "bad"), ("ok", "ok")],
)
def test_a_status_has_one_colour_wherever_the_page_shows_it(page_of_run, trial, status, colour):
    reason = None if status == "ok" else "why"
    rows = [trial(variant="numpy", batch=None), trial(status=status, reason=reason)]
    page = page_of_run(rows).read_text(encoding="utf-8")
    spans = [part.partition("</span>")[0] for part in page.split('<span class="status ')[1:]]
    colours = {span.partition('"')[0] for span in spans if status in span.partition(">")[2]}
    assert colours == {colour}
