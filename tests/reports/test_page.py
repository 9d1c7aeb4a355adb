"""The HTML page of a run."""

import base64
import hashlib
import re

import pytest

from streamlab.reports.page import write_report
from streamlab.results.errors import ResultsError
from streamlab.results.schema import MEASURED, STATUSES
from tests.reports.conftest import META, parse, words


@pytest.fixture
def page_of(page_of_run):
    def build(rows, **more):
        return page_of_run(rows, **more).read_text(encoding="utf-8")

    return build


def test_the_page_needs_nothing_but_itself(page_of, typical):
    page = page_of(typical)
    outline = parse(page)
    assert "http:" not in page
    assert "https:" not in page
    assert page.count("<script") == page.count("<script>") == 1
    assert "@import" not in page
    assert "url(" not in re.sub(r"url\(#[^)]+\)", "", page)
    assert not any("src" in attrs for _, attrs in outline.tags)
    assert all(link.startswith(("#", "data:")) for link in outline.links)


def test_the_browser_may_run_only_this_script_and_open_no_connection(page_of, typical):
    page = page_of(typical)
    script = page.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(
        attrs["content"]
        for tag, attrs in parse(page).tags
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")


def test_each_cell_has_an_address_of_its_own_that_is_the_same_in_every_page(page_of, trial):
    names = ["a b", "a~20~b", "a<b>", "a%20b", "\u00e9"]
    rows = [trial(variant=name) for name in names]
    outline = parse(page_of(rows))
    found = {attrs["data-cell"]: attrs["id"] for _, attrs in outline.tags if "data-cell" in attrs}
    assert len(set(found.values())) == len(names)
    assert (
        found["event_window/multicore/a b/w1/b4096"]
        == "cell-event_window/multicore/a~20~b/w1/b4096"
    )
    assert all(re.fullmatch(r"[A-Za-z0-9_./@~-]+", one) for one in found.values())
    assert {f"#{one}" for one in found.values()} <= set(outline.links)
    again = parse(page_of([trial("spark"), *reversed(rows)], name="again"))
    later = {attrs["data-cell"]: attrs["id"] for _, attrs in again.tags if "data-cell" in attrs}
    assert found.items() <= later.items()


def test_most_details_are_folded(page_of, typical):
    tags = [attrs for tag, attrs in parse(page_of(typical)).tags if tag == "details"]
    assert len(tags) > 8
    assert sum("open" in attrs for attrs in tags) <= 1


def test_ids_are_unique_and_links_lead_somewhere(page_of, typical):
    outline = parse(page_of(typical))
    assert len(outline.ids) == len(set(outline.ids))
    inner = {link[1:] for link in outline.links if link.startswith("#")}
    assert inner <= set(outline.ids)


def test_tables_have_captions_and_scoped_headings(page_of, typical):
    outline = parse(page_of(typical))
    assert len(outline.tables) > 8
    assert all(table["caption"] and not table["unscoped"] for table in outline.tables)


def test_figures_say_in_words_what_they_show(page_of, typical):
    outline = parse(page_of(typical))
    figures = [attrs for tag, attrs in outline.tags if tag == "svg"]
    assert len(figures) == 6
    assert all(attrs["role"] == "img" for attrs in figures)
    assert "multicore, blocks of 4,096, 2 workers: 391 M/s" in figures[0]["aria-label"]


def test_the_first_screen_has_verdict_charts_and_table_in_this_order(page_of, typical):
    typical[0] |= {"warnings": '["load average 3.10"]'}
    page = page_of(typical)
    marks = ("<h1>", 'class="note origin"', 'class="verdict ', 'id="warnings"', "<nav ", "<figure ",
             "<table class=", '<section id="without-number"')  # fmt: skip
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)
    assert page.count('<figure aria-labelledby="rates-') == 3
    origin = page.partition('class="note origin">')[2].partition("</p>")[0]
    facts = ("2026-11-21 08:00 UTC", "Sample CPU", "2 cores", "stream-lab 0.1.0, 0123456789ab")
    assert all(fact in origin for fact in facts)
    assert origin.endswith("3 workloads, 4 engines, 39 cells, 105 fresh processes")
    verdict = words(parse(page.partition("</h1>")[2].partition("<nav ")[0]))
    assert "All answers of 33 cells are right" in verdict
    assert "Repetitions of a cell differ by 8%." in verdict and "1 warning " in verdict


def test_a_chart_groups_engines_by_what_may_be_compared_fastest_first(page_of, trial):
    rows = [
        trial("spark", variant="cached", batch=None, workers=2, eps=1e6),
        *(trial("dataframe", variant="numpy", batch=None, repetition=n, eps=n * 1e8) for n in (1, 2, 3)),
        trial(eps=1.5e9),
        trial(workers=2, eps=3e9),
    ]  # fmt: skip
    page = page_of(rows)
    chart = page.partition("<figure ")[2].partition("</figure>")[0]
    text = words(parse(f"<figure {chart}</figure>"))
    assert text.index("whole input") < text.index("NumPy") < text.index("Spark SQL, cached")
    assert "2 workers: 1.00 M/s 1.00 M/s 200 \u00d7 slower than NumPy" in text
    assert "1 worker: 200 M/s, 100 M/s to 300 M/s, n = 3" in text
    assert "1 worker: 1.50 G/s; 2 workers: 3.00 G/s 1 2 3.00 G/s 2.00 \u00d7 1 worker" in text
    spans = [
        float(at) for at in re.findall(r'class="span" style="left:[\d.]+%;width:([\d.]+)%', chart)
    ]
    assert len(spans) == 4 and max(spans) > 5 * min(spans)


def test_a_ratio_within_the_ranges_is_marked_and_a_clear_one_is_not(page_of, trial):
    def repeated(workers, *rates):
        return [trial(workers=workers, repetition=n, eps=eps) for n, eps in enumerate(rates, 1)]

    unclear = page_of([*repeated(1, 1e8, 2e8), *repeated(2, 1.9e8, 2.5e8)])
    assert unclear.count("~ 1.47 \u00d7 1 worker</span>") == 2  # the chart and the table
    assert "the ranges of the repetitions overlap" in words(parse(unclear))
    clear = page_of([*repeated(1, 1e8, 1.8e8), *repeated(2, 1.9e8, 2.5e8)], name="clear")
    assert "1.57 \u00d7 1 worker</span>" in clear and "~ " not in words(parse(clear))


def test_every_status_is_shown_with_its_reason_and_escaped(page_of, typical):
    page = page_of(typical)
    text = words(parse(page))
    for status in set(STATUSES) - MEASURED:
        assert text.count(f"reason of {status}: expected <b>1</b> & got 2") == 2
    assert "<b>1</b>" not in page


def test_a_voided_cell_shows_no_number_anywhere(page_of, trial):
    page = page_of(
        [
            trial(repetition=1, eps=123_456_789.0),
            trial(repetition=2, status="wrong_output", reason="1 missing"),
            trial("reference", batch=None, eps=1e6),
        ]
    )
    assert "123 M/s" not in page
    assert "1 missing" in page
    assert "All answers of 1 cell are right: they equal the oracle&#39;s. 1 cell has no" in page


def test_answers_that_are_empty_are_not_sold_as_right(shown, trial):
    page, _ = shown([trial(expected_outputs=0), trial(workers=2, expected_outputs=12)])
    assert "In 1 cell the right answer is empty, so that nothing was compared." in page
    page, _ = shown([trial(expected_outputs=3)], name="some")
    assert "nothing was compared" not in page


def test_exact_values_stand_behind_the_short_ones(page_of, trial):
    page = page_of([trial(eps=412_345_678.0)])
    assert 'title="412,345,678 events/s">412 M/s</span>' in page


def test_ratios_name_their_base(page_of, typical):
    text = words(parse(page_of(typical)))
    # In three charts and three tables: by events and by blocks, with two and with four workers.
    assert text.count("2.00 \u00d7 1 worker") == 3 * (2 + 4)
    assert text.count("0.758 \u00d7 2 workers") == 3 * 2


def test_the_page_shows_conditions_of_rates_and_no_ratio_of_unlike_rows(page_of, trial):
    page = page_of(
        [
            trial(eps=1e9),
            trial("spark", variant="streaming", batch=None, eps=1e6),
        ]
    )
    text = words(parse(page))
    assert "event_window · blocks of 4,096, from memory multicore # 1 1.00 G/s" in text
    streamed = "micro-batches, from files; also timed: reading, decoding, Python, start-up"
    assert f"event_window · {streamed} Spark streaming # 1 1.00 M/s" in text
    assert "1000 \N{MULTIPLICATION SIGN}" not in text
    assert text.count("1 alone") == 2


def test_oversubscribed_cells_are_marked_and_the_mark_explained(page_of, trial):
    assert "†" in words(parse(page_of([trial(workers=4)])))
    assert "†" not in words(parse(page_of([trial(workers=2)], name="fits")))


def test_provenance_shows_what_run_json_holds(page_of, trial):
    text = words(parse(page_of([trial()])))
    for fact in ("Sample CPU <2.6 GHz>", "0123456789abcdef", "ab" * 32, "events = 40_000_000"):
        assert fact in text


def test_folders_of_the_users_files_are_not_on_the_page(page_of, trial):
    matrix = '[[workload]]\nname = "/home/ann/my work/sensors.py:ONE"  # 5 events/s, 1/2 / (3/4)\n'
    origin = {
        "files": [{"name": "sensors.csv", "sha256": "ef" * 32}],
        "columns": {"value": "m/s"},
        "bad_lines": ["/home/ann/secret/sensors.csv: row 5, column value: 'x' is no int64"],
    }
    meta = {
        **META,
        "matrix_text": matrix,
        "matrix_folder": "/home/ann/project",
        "datasets": {"sensors": {"id": "cd" * 32, "origin": origin}},
    }
    text = words(parse(page_of([trial()], meta=meta)))
    assert "/home" not in text and "ann" not in text.split() and "secret" not in text
    assert 'name = "sensors.py:ONE" # 5 events/s, 1/2 / (3/4)' in text
    for fact in ("sensors.csv: row 5, column value", "ef" * 32, "m/s"):
        assert fact in text


def test_invented_events_of_an_import_are_stated_of_its_input(page_of, trial):
    words_of_it = "57.1% of 7 events were invented by the import (4 of kind read_reset)"
    one = {"id": "cd" * 32, "workload": "keyed_counter", "invented": words_of_it}
    page = page_of([trial()], meta={**META, "datasets": {"keyed_counter@edits": one}})
    assert f"Input of keyed_counter@edits: {words_of_it}." in words(parse(page))
    assert "were invented" not in page_of([trial()], name="generated")


def test_properties_and_plans_are_shown(page_of, typical):
    text = words(parse(page_of(typical)))
    assert "does not hold the program names no worker" in text
    assert "root: barrier" in text


def test_missing_latency_is_stated_not_left_blank(page_of, trial):
    text = words(parse(page_of([trial(latency_ns=None)])))
    assert "No engine stamped its outputs" in text
    assert 'id="latency"' not in page_of([trial(latency_ns=None)])


def test_a_run_without_any_number_is_still_a_page(page_of, trial):
    text = words(parse(page_of([trial(status="crash", reason="x" * 5_000)])))
    assert "No cell has a verified number: 1 crash." in text
    assert "x" * 5_000 in text
    assert "No cell of this workload has a number." in text


def test_a_chart_names_the_workers_of_each_dot_and_shows_rows_without_a_rate(page_of, trial):
    page = page_of(
        [
            trial(workers=1, eps=1e8),
            trial(workers=2, eps=2e8),
            trial(workers=4, status="timeout", reason="stopped after 60 s"),
            trial("spark", variant="batch", batch=None, status="timeout", reason="stopped"),
            trial("reference", variant="sequential", batch=None, eps=1e5),
        ]
    )
    chart = page[page.index('<div class="panels rates">') : page.index('<details class="every"')]
    shown = words(parse(chart[: chart.rindex("</div>") + len("</div>")]))
    assert "1, 2 workers; fastest: 2 4 \u2020 workers: timeout" in shown
    assert "1 worker: timeout" in shown
    assert re.findall(r"<span>([\d,]+)</span></span>", chart) == ["1", "2"]
    close = page_of([trial(workers=1, eps=1e8), trial(workers=2, eps=1.01e8)])
    assert "<span>1,2</span>" in close


def test_a_run_without_trials_is_still_a_page(page_of):
    assert "No trial was recorded." in words(parse(page_of([])))


def test_cells_that_were_not_run_are_listed(page_of, trial):
    meta = {"cells": {trial()["cell"]: {}, "event_window/spark/batch/w1": {}}, "complete": False}
    text = words(parse(page_of([trial()], meta=meta)))
    assert "The run is incomplete: 1 cell not run yet." in text
    assert "event_window/spark/batch/w1 not run" in text


def test_a_hundred_cells_make_a_page(page_of, trial):
    rows = [
        trial(variant=f"v{number}", workers=workers, eps=1e6 * (number + 1))
        for number in range(25)
        for workers in (1, 2, 4, 8)
    ]
    outline = parse(page_of(rows))
    assert sum("data-cell" in attrs for tag, attrs in outline.tags if tag == "tr") == 100


def test_the_same_run_gives_the_same_bytes(make_run, typical):
    run_dir = make_run(typical)
    first = write_report(run_dir).read_bytes()
    figures = {path.name: path.read_bytes() for path in (run_dir / "figures").iterdir()}
    assert write_report(run_dir).read_bytes() == first
    assert {path.name: path.read_bytes() for path in (run_dir / "figures").iterdir()} == figures


def test_figures_are_written_as_svg_and_png(make_run, typical):
    run_dir = make_run(typical)
    write_report(run_dir)
    names = {path.name for path in (run_dir / "figures").iterdir()}
    assert names == {
        f"{kind}-{workload}.{suffix}"
        for kind in ("throughput", "latency")
        for workload in ("event_window", "page_view_join", "fraud_detection")
        for suffix in ("svg", "png")
    }
    for path in (run_dir / "figures").iterdir():
        start = path.read_bytes()[:8]
        assert start == (b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else b"<?xml ve")


def test_names_with_markup_and_dollars_stay_text(page_of, trial):
    page = page_of([trial(variant="$x^2$ <i>"), trial(variant="other")])
    text = words(parse(page))
    assert "multicore $x^2$ <i>" in text
    assert "<i>" not in page


def test_another_output_file_can_be_named(make_run, trial, tmp_path):
    out = tmp_path / "new" / "page.html"
    assert write_report(make_run([trial()]), out) == out
    assert out.is_file()


def test_a_directory_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(ResultsError, match=r"has no run\.json"):
        write_report(tmp_path)


def test_each_mark_of_a_figure_has_its_exact_value_without_a_script_too(page_of, trial):
    rows = [trial(repetition=n, eps=eps) for n, eps in enumerate((1e8, 1.25e8 + 1, 3e8), 1)]
    rows += [trial(workers=workers) for workers in (2, 4)]
    page = page_of(rows)
    spots = re.findall(r'<circle class="spot" [^>]*><title>([^<]+)</title></circle>', page)
    whole = "multicore, 1 worker: 125,000,001 events/s (median of 3: 100,000,000 events/s to"
    assert spots[0].startswith(whole)
    assert "multicore, 1 worker, repetition 3: 300,000,000 events/s" in spots
    assert "multicore, 1 worker: p99 900,000 ns (median of 3: 900,000 ns to 900,000 ns)" in spots
