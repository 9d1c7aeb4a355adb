"""Cells under an offered load: the page shows stored values, and only verified ones."""

import re

import pytest

from streamlab.results.schema import INVALID, UNSTEADY, UNSUSTAINED, WRONG_OUTPUT
from tests.reports.conftest import section

NUMBERS = (
    "20.0 k/s",  # offered 20,020 events/s
    *("51.2 µs", "102 µs", "613 µs", "2.74 ms", "8.19 ms"),  # from the due time
    *("1.91 µs", "7.77 µs", "345 µs"),  # service
    *("23.4 µs", "+1.25 /s", "4.56 ms"),  # send lag, backlog slope, drain
)


def test_every_number_of_a_loaded_cell_is_the_stored_one(shown, offered):
    page, _ = shown([offered()])
    cells = re.findall(r'<span[^>]* title="([^"]+)">([^<]+)</span>', section(page, "offered"))
    assert set(NUMBERS) <= {text for _, text in cells}
    exact = {title for title, _ in cells}
    assert {"20,020 events/s", "613,000 ns", "7,770 ns", "+1.25 events/s", "4,560,000 ns"} <= exact


def test_several_processes_are_shown_by_their_median(shown, offered):
    rows = [
        offered(repetition=n, latency_p99_ns=ns)
        for n, ns in enumerate((900_000, 100_000, 400_000), 1)
    ]
    page, _ = shown(rows)
    assert "400 µs" in section(page, "offered")
    assert "900 µs" not in section(page, "offered")


@pytest.mark.parametrize("status", [INVALID, WRONG_OUTPUT])
def test_a_loaded_cell_that_was_not_verified_shows_no_number(shown, offered, status):
    page, text = shown([offered(repetition=1), offered(status=status, reason="lag", repetition=2)])
    part = section(page, "offered")
    for number in NUMBERS[1:]:
        assert number not in part
    assert "offered-latency" not in page
    assert "1 cell has a verified number" not in text
    assert "No cell has a verified number" in text
    assert "lag" in section(page, "without-number")


@pytest.mark.parametrize(("status", "sign"), [(UNSUSTAINED, "▲"), (UNSTEADY, "≈")])
def test_a_verdict_is_marked_in_table_figure_and_legend(shown, offered, status, sign):
    page, text = shown([offered(status=status, reason="backlog grows <fast> & far")])
    part = section(page, "offered")
    assert "613 µs" in part
    assert part.count(f">{sign}</span>") >= 2  # the row and the legend
    assert f"1 worker, poisson-20000 {sign}</text>" in part
    assert f"1 {status} ({sign})" in text
    assert "backlog grows &lt;fast&gt; &amp; far" in part
    assert "<fast>" not in page
    assert not section(page, "without-number")


def test_a_cell_that_is_ok_has_no_mark(shown, offered):
    page, _ = shown([offered()])
    before, _ = page.split('<section id="reading"')
    assert "▲" not in before
    assert "≈" not in before


@pytest.mark.parametrize(("window_s", "quick"), [(59.9, True), (60.0, False)])
def test_a_window_below_60_s_is_marked_as_quick(shown, offered, window_s, quick):
    page, _ = shown([offered(window_s=window_s)])
    assert ('<span class="quick">quick</span>' in page) is quick


def test_a_virtual_source_has_no_send_lag_rather_than_0(shown, offered):
    page, _ = shown([offered(send_lag_p99_ns=None, send_lag_max_ns=None)])
    assert 'title="a virtual source: no thread hands events over"' in section(page, "offered")
    assert "23.4 µs" not in page


def test_rates_are_in_the_order_of_size_not_of_letters(shown, offered):
    page, _ = shown([offered(rate_eps=rate) for rate in (100_000.0, 20_000.0)])
    cells = re.findall(r'data-cell="[^"]*poisson-(\w+)"', section(page, "offered"))
    assert cells == ["20000", "100000"]


def test_catch_up_cells_keep_their_table_beside_loads(shown, trial, offered):
    alone, _ = shown([trial()], name="alone")
    both, _ = shown([trial(), offered()], name="both")
    row = re.compile(r'<tr data-cell="event_window/multicore/dgs/w1/b4096">.*?</tr>', re.DOTALL)
    assert row.findall(alone) == row.findall(both)
    for name in ("throughput", "latency"):
        inner = re.compile(r"<figure>.*?</figure>", re.DOTALL)
        assert inner.findall(section(alone, name)) == inner.findall(section(both, name))


def test_a_run_of_loads_alone_has_no_empty_section_of_catch_up(shown, offered):
    page, _ = shown([offered()])
    assert not section(page, "results")
    assert not section(page, "throughput")
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links <= set(re.findall(r'\bid="([^"]+)"', page))


def test_criteria_stand_in_the_heading_where_all_share_them_and_else_in_the_rows(shown, offered):
    same, _ = shown([offered(objective="p99 <= 10ms")], name="same")
    assert same.count("60 s window after 10 s, objective p99 &lt;= 10ms") == 1
    rows = [offered(), offered(rate_eps=5e4, window_s=90.0)]
    differ, _ = shown(rows, name="differ")
    assert "poisson; 60 s window after 10 s" in differ
    assert "poisson; 90 s window after 10 s" in differ


def test_a_search_that_an_engine_refuses_is_a_row_without_a_rate(shown, offered):
    row = offered(status="unsupported", reason="cannot be driven", label="sustainable")
    row["load"] = row["load"].replace("20000.0", "null")
    page, text = shown([row])
    assert "cannot be driven" in section(page, "offered")
    assert "unsupported" in text
