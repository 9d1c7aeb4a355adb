"""The table of cells in a report."""

import re

import pytest

from streamlab.reports.baseline import label
from streamlab.reports.figures.labels import short_names
from streamlab.reports.summary import summarise
from streamlab.reports.table import classes_of, status_text
from streamlab.results.store import read_run
from tests.results.records import headline_rows, trial_row


def headline(*rows):
    return headline_rows(map(trial_row, rows))


def test_a_row_has_median_range_and_n_of_its_repetitions(trial):
    speeds = (3e8, 1e8, 2e8)
    table = headline(*(trial(eps=s, repetition=i) for i, s in enumerate(speeds, 1)))
    (row,) = table
    assert (row.throughput.text, row.low.text, row.high.text) == (
        "200 M/s",
        "100 M/s",
        "300 M/s",
    )
    assert row.n == 3


def of(table, engine, variant):
    return next(row for row in table if (row.cell.engine, row.cell.variant) == (engine, variant))


def test_rows_that_differ_in_unit_origin_or_timed_part_have_no_ratio(trial):
    table = headline(
        trial(eps=1.5e9),
        trial(batch=1, eps=1.5e7),
        trial(batch=64, eps=3e8),
        trial("reference", variant="sequential", batch=None, eps=2e6),
        trial("spark", variant="batch", batch=None, eps=5e5),
        trial("spark", variant="streaming", batch=None, workers=2, eps=1e6),
    )
    assert [(row.ratio, row.no_ratio) for row in table] == [(None, "alone")] * 6


def test_the_data_frame_line_is_the_baseline_of_its_class_and_its_fastest_is_taken(trial):
    table = headline(
        trial("dataframe", variant="numpy", batch=None, eps=8e8),
        trial("dataframe", variant="polars", batch=None, eps=1e8),
        trial("spark", variant="cached", batch=None, workers=2, eps=2e7),
        trial(eps=1.5e9),
    )
    assert of(table, "dataframe", "numpy").is_baseline
    assert of(table, "dataframe", "polars").ratio.exact == "0.125 times NumPy"
    assert of(table, "spark", "cached").ratio.exact == "0.025 times NumPy"
    assert of(table, "spark", "cached").ratio.text == "0.025 \u00d7 NumPy"
    assert of(table, "multicore", "dgs").no_ratio == "alone"


def test_without_a_data_frame_line_the_fastest_cell_of_spark_is_the_baseline(trial):
    table = headline(
        trial("other", variant="whole", batch=None, eps=2e8),
        trial("spark", variant="cached", batch=None, eps=1e6),
        trial("spark", variant="cached", batch=None, workers=2, eps=2e6),
    )
    (base,) = [row for row in table if row.is_baseline]
    assert (base.cell.engine, base.cell.workers) == ("spark", 2)
    assert of(table, "other", "whole").ratio.exact == "100 times Spark SQL, cached, 2 workers"


def test_of_one_engine_the_fewest_workers_are_the_baseline_also_where_two_are_slower(trial):
    table = headline(trial(eps=2e8), trial(workers=2, eps=1e8))
    assert [(row.cell.workers, row.is_baseline) for row in table] == [(1, True), (2, False)]
    assert table[1].ratio.exact == "0.5 times 1 worker"


def test_blocks_of_two_sizes_are_two_classes_with_a_base_each(trial):
    sized = [trial(batch=b, workers=w, eps=w * b * 1e5) for b in (1, 64, 4096) for w in (1, 2)]
    classes = classes_of(summarise(map(trial_row, sized)))
    assert [words for words, _ in classes] == [
        "one event at a time, from memory",
        "blocks of 64, from memory",
        "blocks of 4,096, from memory",
    ]
    assert all([row.is_baseline for row in rows] == [True, False] for _, rows in classes)


def test_a_row_that_failed_is_no_one_to_be_compared_with(trial):
    table = headline(trial(), trial(workers=2, status="crash", reason="x"))
    assert [row.no_ratio for row in table] == ["alone", ""]


def test_rows_of_an_older_lab_or_of_an_engine_without_conditions_have_no_ratio(trial):
    unknown = {"unit": None, "origin": None, "also_timed": None}
    table = headline(trial(**unknown), trial(workers=2, **unknown))
    assert [(row.ratio, row.no_ratio) for row in table] == [(None, "undeclared")] * 2


def test_a_timed_part_below_a_millisecond_has_no_ratio_and_is_no_base(trial):
    table = headline(
        trial(events=1_000, eps=2e6), trial(workers=2, eps=1e8), trial(workers=4, eps=2e8)
    )
    assert [row.no_ratio for row in table] == ["short", "", ""]
    assert table[1].is_baseline
    assert table[2].ratio.exact == "2 times 2 workers"


def test_inputs_of_one_workload_have_their_own_baselines(trial):
    table = headline(
        *(
            trial(engine, eps=eps, workload_label=label, cell=f"{engine}-{label}")
            for label, scale in (("small", 1), ("large", 3))
            for engine, eps in (("multicore", 2e8 * scale), ("spark", 1e6 * scale))
        )
    )
    ratios = {row.cell.label: row.ratio.text for row in table if row.cell.engine == "multicore"}
    assert ratios == {
        "small": "200 \N{MULTIPLICATION SIGN} spark dgs",
        "large": "200 \N{MULTIPLICATION SIGN} spark dgs",
    }


def test_one_wrong_repetition_voids_the_number_of_the_cell(trial):
    (row,) = headline(
        trial(repetition=1), trial(repetition=2, status="wrong_output", reason="2 missing")
    )
    assert row.throughput is None
    assert row.p50 is None
    assert row.cpu_per_million is None
    assert row.status == "ok 1 of 2, wrong_output 1"
    assert row.reason == "2 missing"


def test_the_difference_from_the_oracle_is_part_of_the_reason(trial):
    (row,) = headline(
        trial(status="wrong_output", reason="wrong answer", difference="ts 3: want 4, got 5")
    )
    assert row.reason == "wrong answer\nts 3: want 4, got 5"
    (row,) = headline(
        trial(status="wrong_output", reason="2 rows", difference="2 rows\n  missing ts 3")
    )
    assert row.reason == "2 rows\n  missing ts 3"


def test_a_remark_on_a_verified_cell_is_kept(trial):
    (row,) = headline(trial(reason="a thread was left"))
    assert row.throughput is not None
    assert row.reason == "a thread was left"


def test_cpu_time_is_shown_per_million_events(trial):
    (row,) = headline(trial(cpu_s=2.0))
    assert row.cpu_per_million.text == "50.0 ms"


def test_equal_statuses_are_stated_once():
    assert status_text({"ok": 5}) == "ok"
    assert status_text({"crash": 1, "ok": 2, "timeout": 1}) == "ok 2 of 4, crash 1, timeout 1"


def test_cells_that_differ_in_options_only_are_distinguished_by_their_tag(trial):
    place = "event_window/multicore/dgs/w1/b4096"
    fast = trial() | {"cell": f"{place}/pinned"}
    slow = trial(eps=1e8) | {"cell": f"{place}/floating/constant-1M", "load_label": "constant-1M"}
    cells = summarise(map(trial_row, (fast, slow)))
    assert [cell.tag for cell in cells] == ["pinned", "floating"]
    assert [label(cell) for cell in cells] == [
        "multicore (pinned), blocks of 4,096, 1 worker",
        "multicore (floating), blocks of 4,096, 1 worker",
    ]
    assert sorted(short_names(cells).values()) == ["multicore (floating)", "multicore (pinned)"]


@pytest.mark.parametrize(
    ("prepare_s", "answer_s", "shown"),
    [(1.0, 0.5, "1.50 s"), (0.01, 0.01, None), (0.0, 9.0, "9.00 s"), (2.0, None, "2.00 s")],
)
def test_preparation_and_answer_are_shown_above_a_tenth_of_the_timed_part(
    make_run, trial, prepare_s, answer_s, shown
):
    row = trial(duration_s=1.0, prepare_s=prepare_s, answer_s=answer_s)
    (found,) = headline_rows(read_run(make_run([row])).rows)
    assert (found.untimed.text if found.untimed else None) == shown


def test_the_page_has_it_for_each_row(page_of_run, trial):
    page = page_of_run([trial(duration_s=1.0, prepare_s=3.25, answer_s=0.0)])
    cell = re.search(r'data-label="not timed">(.*?)</td>', page.read_text(encoding="utf-8"))
    assert re.search(r"<span [^>]*>3.25 s</span>", cell[1])
