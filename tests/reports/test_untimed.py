"""Work of an engine outside the clock is shown beside its rate where it weighs."""

import re

import pytest

from streamlab.reports.table import headline_table
from streamlab.results.store import read_run


@pytest.mark.parametrize(
    ("prepare_s", "answer_s", "shown"),
    [(1.0, 0.5, "1.50 s"), (0.01, 0.01, None), (0.0, 9.0, "9.00 s"), (2.0, None, "2.00 s")],
)
def test_preparation_and_answer_are_shown_above_a_tenth_of_the_timed_part(
    make_run, trial, prepare_s, answer_s, shown
):
    row = trial(duration_s=1.0, prepare_s=prepare_s, answer_s=answer_s)
    (found,) = headline_table(read_run(make_run([row])).rows)
    assert (found.untimed.text if found.untimed else None) == shown


def test_the_page_has_it_for_each_row(page_of_run, trial):
    page = page_of_run([trial(duration_s=1.0, prepare_s=3.25, answer_s=0.0)])
    cell = re.search(r'data-label="also timed">(.*?)</td>', page.read_text(encoding="utf-8"))
    assert re.search(r">untimed <span [^>]*>3.25 s</span>", cell[1])
