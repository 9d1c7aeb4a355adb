"""Counters of engines: threads and CPU time next to energy, and all counters by name."""

import json
import re

from tests.reports.conftest import section

GRAPH = {
    "threads": 10.0,
    "mergers": 4.0,
    "switches_per_mtuple": 3983.4,
    "graph_cpu_s_per_mtuple": 0.0375,
    "merger_cpu_share": 0.1695,
}


def layers(trial, repetition=1, status="ok", **counters):
    return trial(
        variant="layers",
        workers=2,
        batch=64,
        repetition=repetition,
        status=status,
        counters=json.dumps(GRAPH | counters),
    )


def test_threads_and_cpu_time_are_shown_with_energy_as_medians_over_trials(shown, trial):
    rows = [
        layers(trial, number, graph_cpu_s_per_mtuple=cpu_s)
        for number, cpu_s in ((1, 0.03), (2, 0.05), (3, 0.04))
    ]
    page, _ = shown(rows)
    part = section(page, "energy")
    assert "<h3>Threads and CPU time</h3>" in part
    for text in (">10</span>", ">4</span>", ">3.98 k</span>", ">40.0 ms</span>", ">16.95 %</span>"):
        assert text in part
    assert ">3</td></tr>" in part


def test_engines_that_do_not_count_threads_have_no_row(shown, trial):
    page, _ = shown([layers(trial), trial("spark", variant="streaming", batch=None)])
    part = section(page, "energy")
    assert part.count("<tr>") == 2
    assert "spark" not in part
    alone, _ = shown([trial("spark", variant="streaming", batch=None)])
    assert "Threads and CPU time" not in alone


def test_a_cell_that_was_not_verified_shows_no_counter(shown, trial):
    page, _ = shown([layers(trial, 1), layers(trial, 2, status="wrong_output")])
    assert "Threads and CPU time" not in page
    assert not section(page, "counters")


def test_every_counter_is_there_by_its_name_and_absent_ones_are_dashes(shown, trial):
    one = trial(counters=json.dumps({"joins": 12.0, "<odd>": 0.25}))
    two = trial(workers=2, counters=json.dumps({"joins": 7.0, "late": 3.0}))
    page, _ = shown([one, two])
    part = section(page, "counters")
    assert '<a href="#counters">Counters</a>' in page
    assert "multicore on event_window" in part
    joins, odd, late = (
        re.search(rf"<tr><th scope=\"row\"><code>{name}</code>.*?</tr>", part, re.DOTALL)[0]
        for name in ("joins", "&lt;odd&gt;", "late")
    )
    assert joins.index(">12</span>") < joins.index(">7</span>")
    assert ">0.25</span>" in odd
    assert "&ndash;" in odd
    assert late.index("&ndash;") < late.index(">3</span>")


def test_counter_that_an_older_lab_stored_as_nan_is_left_out(shown, trial):
    page, _ = shown([layers(trial, seen=float("nan"), lost=float("inf")), layers(trial, 2)])
    assert "threads" in page
    assert ">seen<" not in page and ">lost<" not in page
