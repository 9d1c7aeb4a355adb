"""Searches: brackets, levels and probes as recorded, and nothing where an answer was wrong."""

import re
from dataclasses import replace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from streamlab.reports.figures.brackets import bracket_panel, bracket_range
from streamlab.reports.figures.level_latency import level_panel, level_range
from streamlab.reports.figures.throughput import shared_scale, throughput_panel
from streamlab.reports.page import write_report
from streamlab.reports.palette import engine_colours
from streamlab.reports.searches import read_searches
from streamlab.reports.summary import summarise
from streamlab.results.errors import ResultsError
from streamlab.results.seal import write_sealed
from streamlab.results.store import read_run
from tests.reports.conftest import section


def test_the_bracket_is_the_recorded_one(shown, a_search):
    rows, meta = a_search()
    page, text = shown(rows, meta=meta)
    part = section(page, "sustainable")
    assert 'title="30,000 events/s">30.0 k/s' in part
    assert 'title="30,600 events/s">30.6 k/s' in part
    assert "2.0&nbsp;%" in part
    assert "failed at 30.6 k/s: backlog grows by 900 events/s" in text
    assert "1 cell, 1 search, 8 fresh processes" in text


def test_catch_up_is_shown_with_the_bracket_of_the_same_cell_only(make_run, trial, a_search):
    rows, meta = a_search()
    rows += [trial(eps=1.5e8), trial(workers=2, eps=3e8)]
    run = read_run(make_run(rows, meta=meta))
    (search,) = read_searches(run, summarise(run.rows))
    assert search.catch_up_eps is not None
    assert search.catch_up_eps.values == (1.5e8,)


def test_the_ceiling_of_a_broker_is_drawn_with_the_brackets_of_its_loads(make_run, a_search):
    rows, meta = a_search()
    for row in rows:
        row |= {"origin": "broker", "generator_ceiling_eps": 1.5e6}
    run = read_run(make_run(rows, meta=meta))
    (search,) = read_searches(run, ())
    assert search.broker_ceiling_eps is not None
    assert search.broker_ceiling_eps.median == 1.5e6
    part = section(write_report(run.path).read_text(encoding="utf-8"), "sustainable")
    assert "the broker alone 1.50 M/s" in part
    rows, meta = a_search()
    assert read_searches(read_run(make_run(rows, meta=meta)), ())[0].broker_ceiling_eps is None


def test_no_label_touches_the_line_of_a_ceiling(make_run, a_search):
    rows, meta = [], {}
    for engine in ("multicore", "kafka_streams", "flink"):
        own, about = a_search(engine)
        rows += [row | {"origin": "broker", "generator_ceiling_eps": 6e4} for row in own]
        for key in ("cells", "searches"):
            meta[key] = meta.get(key, {}) | about[key]
    searches = read_searches(read_run(make_run(rows, meta=meta)), ())
    colours = engine_colours(search.place.engine for search in searches)
    limits = bracket_range(searches)
    assert limits is not None and len(searches) == 3
    axes = bracket_panel("event_window", searches, colours, limits).axes
    canvas = FigureCanvasAgg(axes.figure)
    labels = [text for text in axes.texts if text.get_text() not in ("[", "]")]
    lines = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert (len(labels), len(lines)) == (6, 3)
    canvas.draw()
    boxes = [label.get_bbox_patch().get_window_extent() for label in labels]
    ends = [y for line in lines for y in axes.transData.transform(line.get_xydata())[:, 1]]
    assert not any(box.y0 <= y <= box.y1 for box in boxes for y in ends)


@pytest.mark.parametrize("variant", ["dgs", "thread per instance", "a " * 30 + "long variant"])
def test_names_of_lines_end_within_the_figure(make_run, trial, a_search, variant):
    rows, meta = a_search()
    run = read_run(make_run([*rows, trial()], meta=meta))
    cells = summarise(run.rows)
    (search,) = read_searches(run, cells)
    search = replace(search, place=replace(search.place, variant=variant))
    rated = [replace(cell, variant=variant) for cell in cells if cell.throughput_eps]
    colours = engine_colours(["multicore"])
    limits, scale = level_range([search]), shared_scale(rated)
    assert limits is not None and scale is not None
    for panel in (
        level_panel("event_window", [search], colours, limits),
        throughput_panel("event_window", rated, colours, scale),
    ):
        figure = panel.axes.figure
        FigureCanvasAgg(figure).draw()
        names = [text for text in panel.axes.texts if search.place.engine_label in text.get_text()]
        assert names
        assert all(name.get_window_extent().x1 <= figure.bbox.x1 for name in names)


def test_confirmations_of_another_rate_are_not_those_of_the_bracket(make_run, searched, a_search):
    rows, meta = a_search()
    higher = searched(purpose="confirm", probe=9, rate_eps=30_600.0, status="unsustained")
    run = read_run(make_run([*rows, higher], meta=meta))
    (search,) = read_searches(run, ())
    assert search.confirming_cell is not None
    assert search.confirming_cell.statuses == {"ok": 1}


def test_levels_have_the_latencies_of_their_trials(make_run, a_search):
    rows, meta = a_search()
    run = read_run(make_run(rows, meta=meta))
    (search,) = read_searches(run, summarise(run.rows))
    stored = [row["latency_p99_ns"] for row in rows if row["purpose"] == "level"]
    assert [level.share for level in search.levels] == [0.1, 0.5, 0.95]
    assert [level.cell.latency_p99_ns.median for level in search.levels] == stored
    page = write_report(run.path).read_text(encoding="utf-8")
    assert all(f'title="{ns:,} ns"' in section(page, "sustainable") for ns in stored)


def test_a_level_that_was_not_verified_has_no_latency(shown, a_search):
    rows, meta = a_search()
    rows[-1] |= {"status": "invalid", "reason": "send lag", "latency_p99_ns": 4_321_000}
    page, _ = shown(rows, meta=meta)
    assert "4.32 ms" not in page
    assert "4,321,000" not in page


def test_a_level_with_a_verdict_is_marked_in_the_figure(shown, a_search):
    rows, meta = a_search()
    rows[-1] |= {"status": "unsteady", "reason": "it scatters"}
    page, _ = shown(rows, meta=meta)
    figure = re.search(r"<svg[^>]*Latency against load of.*?</svg>", page, re.DOTALL)
    assert figure is not None
    assert figure[0].count(">≈</text>") == 2  # p50 and p99


def test_every_probe_is_listed_with_votes_and_reasons(shown, a_search):
    rows, meta = a_search()
    page, _ = shown(rows, meta=meta)
    probes = re.search(r'<table class="probes">.*?</table>', page, re.DOTALL)
    assert probes is not None
    listed = re.findall(
        r'<th scope="row" class="num" rowspan="1">(\d)</th><td[^>]*>(\w+)', probes[0]
    )
    assert listed == [(str(row["probe"]), row["purpose"]) for row in rows]
    assert probes[0].count("backlog grows by 900 events/s") == 2


def test_a_wrong_answer_voids_bracket_and_levels_whatever_is_recorded(shown, a_search):
    rows, meta = a_search()
    rows[3] |= {"status": "wrong_output", "reason": "1 <missing>"}
    page, text = shown(rows, meta=meta)
    table = re.search(r"The bracket of every search.*?</table>", page, re.DOTALL)
    assert table is not None
    assert "30.0 k/s" not in table[0]
    assert "<svg" not in section(page, "sustainable")
    assert "Latency against load" not in text
    assert "an answer was wrong, so no rate means anything: 1 <missing>" in text
    assert "No cell has a verified number: 1 wrong_output." in text


def test_an_open_end_names_the_bound_of_the_search(shown, a_search):
    rows, meta = a_search()
    (noted,) = meta["searches"].values()
    noted["bracket"] |= {"r_fail_eps": None, "confirmed": False, "reason": "the input is <short>"}
    page, text = shown(rows, meta=meta)
    assert "the input is &lt;short&gt;" in section(page, "sustainable")
    assert "not confirmed" in text
    assert "from 30.0 k/s, not confirmed" in text  # in the figure


def test_a_damaged_record_is_named(make_run, a_search):
    rows, meta = a_search()
    run_dir = make_run(rows, meta=meta)
    write_sealed(run_dir, run_dir / "searches" / "one.json", b"{")
    with pytest.raises(ResultsError, match=r"one\.json is damaged .* --resume"):
        write_report(run_dir)


def test_a_search_without_its_record_has_no_bracket(shown, a_search):
    rows, meta = a_search()
    _, text = shown(rows[:3], meta={"cells": meta["cells"], "complete": False})
    assert "unfinished" in text
    assert "lab run --resume continues it" in text
    assert "the run is incomplete" in text.lower()
