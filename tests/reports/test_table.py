import pytest

from reports.figures.series import short_names
from reports.summary import summarise
from reports.table import baseline, headline_table, label, status_text
from results.schema import COLUMNS


def complete(row):
    return {column.name: None for column in COLUMNS} | row


@pytest.fixture
def rows(trial):
    def make(*rows):
        return [complete(row) for row in rows]

    return make


def test_a_row_has_median_range_and_n_of_its_repetitions(rows, trial):
    speeds = (3e8, 1e8, 2e8)
    table = headline_table(rows(*(trial(eps=s, repetition=i) for i, s in enumerate(speeds, 1))))
    (row,) = table
    assert (row.throughput.text, row.low.text, row.high.text) == (
        "200 M/s",
        "100 M/s",
        "300 M/s",
    )
    assert row.n == 3


def test_the_fastest_cell_of_spark_streaming_is_the_baseline(rows, trial):
    table = headline_table(
        rows(
            trial(eps=2e8),
            trial("spark", variant="batch", batch=None, eps=5e5),
            trial("spark", variant="streaming", batch=None, eps=1e6),
            trial("spark", variant="streaming", batch=None, workers=2, eps=2e6),
        )
    )
    (base,) = [row for row in table if row.is_baseline]
    assert (base.engine, base.variant, base.workers) == ("spark", "streaming", 2)
    assert next(row for row in table if row.engine == "multicore").ratio.exact == "100 times"


def test_without_spark_the_slowest_cell_is_the_baseline(rows, trial):
    table = headline_table(rows(trial(eps=2e8), trial("reference", batch=None, eps=1e6)))
    assert [row.engine for row in table if row.is_baseline] == ["reference"]


def test_inputs_of_one_workload_have_their_own_baselines(rows, trial):
    table = headline_table(
        rows(
            *(
                trial(engine, eps=eps, workload_label=label, cell=f"{engine}-{label}")
                for label, scale in (("small", 1), ("large", 3))
                for engine, eps in (("multicore", 2e8 * scale), ("reference", 1e6 * scale))
            )
        )
    )
    ratios = {row.label: row.ratio.text for row in table if row.engine == "multicore"}
    assert ratios == {
        "small": "200 \N{MULTIPLICATION SIGN}",
        "large": "200 \N{MULTIPLICATION SIGN}",
    }


def test_one_wrong_repetition_voids_the_number_of_the_cell(rows, trial):
    (row,) = headline_table(
        rows(trial(repetition=1), trial(repetition=2, status="wrong_output", reason="2 missing"))
    )
    assert row.throughput is None
    assert row.p50 is None
    assert row.cpu_per_million is None
    assert row.status == "ok 1 of 2, wrong_output 1"
    assert row.reason == "2 missing"


def test_the_difference_from_the_oracle_is_part_of_the_reason(rows, trial):
    (row,) = headline_table(
        rows(trial(status="wrong_output", reason="wrong answer", difference="ts 3: want 4, got 5"))
    )
    assert row.reason == "wrong answer\nts 3: want 4, got 5"
    (row,) = headline_table(
        rows(trial(status="wrong_output", reason="2 rows", difference="2 rows\n  missing ts 3"))
    )
    assert row.reason == "2 rows\n  missing ts 3"


def test_a_remark_on_a_verified_cell_is_kept(rows, trial):
    (row,) = headline_table(rows(trial(reason="a thread was left")))
    assert row.throughput is not None
    assert row.reason == "a thread was left"


def test_cpu_time_is_given_per_million_events(rows, trial):
    (row,) = headline_table(rows(trial(cpu_s=2.0)))
    assert row.cpu_per_million.text == "50.0 ms"


def test_statuses_that_agree_are_said_once():
    assert status_text({"ok": 5}) == "ok"
    assert status_text({"crash": 1, "ok": 2, "timeout": 1}) == "ok 2 of 4, crash 1, timeout 1"


def test_cells_that_differ_in_options_only_are_told_apart_by_their_tag(rows, trial):
    place = "event_window/multicore/dgs/w1/b4096"
    fast = trial() | {"cell": f"{place}/pinned"}
    slow = trial(eps=1e8) | {"cell": f"{place}/floating/constant-1M", "load_label": "constant-1M"}
    cells = summarise(rows(fast, slow))
    assert [cell.tag for cell in cells] == ["pinned", "floating"]
    assert [label(cell) for cell in cells] == [
        "multicore dgs (pinned), batch 4,096, 1 worker",
        "multicore dgs (floating), batch 4,096, 1 worker",
    ]
    assert sorted(short_names(cells).values()) == ["multicore (floating)", "multicore (pinned)"]


def test_a_baseline_speaks_of_spark_only_where_spark_was_asked_for(rows, trial):
    two = rows(trial(), trial(workers=2, eps=1e8))
    assert baseline(summarise(two)).why == "the slowest cell"
    failed = rows(trial("spark", variant="streaming", batch=None, status="crash", reason="x"))
    why = baseline(summarise([*two, *failed])).why
    assert why == "the slowest cell, since Spark streaming has no number here"
