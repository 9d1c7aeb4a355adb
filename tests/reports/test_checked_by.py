"""Rows whose answers had no independent oracle say so."""

import pytest

from streamlab.reports.page.comparison import write_comparison
from streamlab.reports.page.history import write_history
from streamlab.reports.page.write import render
from streamlab.reports.summary import BY_INVARIANTS, BY_REFERENCE, summarise
from streamlab.results.meta import RunMeta
from streamlab.results.store import Run
from tests.results.records import headline_rows, run_meta, trial_row

REFERENCE = {"checked_by": "reference engine"}


@pytest.fixture
def page_of(tmp_path):
    def build(rows):
        whole = tuple(trial_row(row | {"order_index": index}) for index, row in enumerate(rows))
        run = Run(path=tmp_path / "sample", meta=RunMeta(), rows=whole)
        return headline_rows(whole), render(run, summarise(whole), tmp_path / "figures")

    return build


def test_a_row_that_was_checked_against_the_reference_engine_is_marked(page_of, trial, offered):
    rows = [trial(), trial("spark", batch=None, **REFERENCE), offered(**REFERENCE)]
    table, page = page_of(rows)
    assert [row.cell.checked_by for row in table] == [
        "oracle",
        "reference engine",
        "reference engine",
    ]
    assert page.count(f'title="{BY_REFERENCE}">by reference</a>') == 2
    assert f"Those of 2 cells were {BY_REFERENCE}." in page
    assert "the oracle&#39;s" not in page
    assert page.count('id="checked"') == 1
    assert f"are the exception: they were {BY_REFERENCE}." in page


def test_one_repetition_without_an_oracle_marks_its_cell(page_of, trial):
    table, page = page_of([trial(), trial(repetition=2, **REFERENCE)])
    assert table[0].cell.checked_by == "reference engine"
    assert f"The answers were {BY_REFERENCE}." in page


def test_a_row_that_was_checked_by_invariants_is_marked(page_of, trial, offered):
    rows = [trial(), offered(checked_by="invariants"), trial("spark", batch=None, **REFERENCE)]
    _, page = page_of(rows)
    assert page.count(f'title="{BY_INVARIANTS}">by invariants</a>') == 1
    assert page.count(f'title="{BY_REFERENCE}">by reference</a>') == 1
    assert "equals the expected answers or satisfies the invariants." in page
    assert f"Those of 1 cell were {BY_INVARIANTS}." in page


@pytest.mark.parametrize("message", [{}, {"checked_by": None}, {"checked_by": "oracle"}])
def test_rows_that_had_an_oracle_or_do_not_say_are_not_marked(page_of, trial, message):
    _, page = page_of([trial(**message)])
    assert BY_REFERENCE not in page
    assert "All answers are right: every one equals the oracle&#39;s." in page


def test_a_cell_without_a_number_is_not_called_right(page_of, trial):
    _, page = page_of([trial(), trial("spark", status="wrong_output", reason="1", **REFERENCE)])
    assert "All answers of 1 cell are right: they equal the oracle&#39;s." in page


def test_pages_of_several_runs_name_the_cells_without_an_oracle(tmp_path, trial):
    def run(name, **more):
        own = trial(variant="own", fingerprint="own", **more)
        rows = [trial(fingerprint="dgs"), own]
        whole = tuple(map(trial_row, rows))
        meta = {"host": {}, "vcs": {}, "sessions": [{"started_at": name}]}
        return Run(path=tmp_path / name, meta=run_meta(meta), rows=whole)

    runs = [run("a"), run("b", **REFERENCE)]
    sentence = f"{BY_REFERENCE.capitalize()}: event_window/multicore/own/w1/b4096."
    page = tmp_path / "page.html"
    write_comparison(runs, page, seed=1)
    assert sentence in page.read_text(encoding="utf-8")
    write_history(runs, page, metric="throughput", seed=1, machine={}, left_out=())
    assert sentence in page.read_text(encoding="utf-8")
    write_history(runs[:1], page, metric="throughput", seed=1, machine={}, left_out=())
    assert BY_REFERENCE.capitalize() not in page.read_text(encoding="utf-8")
