"""The layout of pages in a real browser."""

import re

import pytest

from tests.reports.chromium import NEEDS_CHROMIUM, ask, browse

pytestmark = NEEDS_CHROMIUM

# What the browser has laid out.
PROBE = """
document.querySelectorAll('details.every').forEach(table => { table.open = true; });
const box = element => element.getBoundingClientRect();
const all = selector => [...document.querySelectorAll(selector)];
const lines = element => {
  const text = document.createRange();
  text.selectNodeContents(element);
  return new Set([...text.getClientRects()].map(rect => rect.top)).size;
};
const shown = all('svg text').filter(t => box(t).width > 0 && box(t).height > 0);
return {
  wide: document.documentElement.scrollWidth, view: document.documentElement.clientWidth,
  texts: shown.map(t => t.textContent.trim()), panels: all('figure svg').map(s => box(s).width),
  cut: all('figure svg').filter(s => [...s.querySelectorAll('text')].some(
    t => box(t).right > box(s).right + 1 || box(t).left < box(s).left - 1)).length,
  rows: all('tr[data-cell]').filter(r => box(r).height > 0).length,
  beyond: all('#results .scroll, #results .scroll *').filter(e => {
    const edge = box(e.closest('.scroll'));
    const right = Math.min(edge.right, innerWidth);
    return box(e).width > 0 && (box(e).right > right + 1 || box(e).left < edge.left - 1);
  }).map(e => e.tagName + ' ' + e.textContent.trim()),
  statuses: all('#results .cells .status').filter(e => box(e).width > 0).length,
  number_lines: Math.max(...all('#results .cells td.num').map(lines)),
  colour: getComputedStyle(document.querySelector('.swatch')).backgroundColor,
};"""


def test_the_browser_shows_rows_figures_and_reasons(page_of_run, typical, tmp_path):
    dom = browse(page_of_run(typical), tmp_path / "profile")
    assert len(re.findall(r'<tr [^>]*data-cell="', dom)) == 39
    assert "391 M/s" in dom
    assert "reason of timeout: expected &lt;b&gt;1&lt;/b&gt; &amp; got 2" in dom
    assert dom.count("<svg ") == 6


@pytest.mark.some(1)
@pytest.mark.parametrize("width", [360, 1400])
def test_the_page_fits_the_window_and_no_label_is_cut(page_of_run, typical, width):
    seen = ask(page_of_run(typical), PROBE, width)
    assert seen["view"] <= width
    assert seen["wide"] <= seen["view"]
    assert seen["rows"] == 39
    assert seen["cut"] == 0
    assert {"multicore, blocks of 4,096", "Spark streaming", "100 M"} <= set(seen["texts"])
    assert min(seen["panels"]) > 290
    assert seen["colour"] != "rgba(0, 0, 0, 0)"


def test_the_address_of_a_row_does_not_run_into_its_status(page_of_run, trial):
    names = ["generic-streaming" + "s" * more for more in range(25)]
    rows = [trial("spark", variant=name, batch=None) for name in names]
    seen = ask(
        page_of_run(rows),
        """
        document.querySelector('details.every').open = true;
        const box = element => element.getBoundingClientRect();
        return [...document.querySelectorAll('#results tr[data-cell]')].map(row => {
          const link = box(row.querySelector('.link')), status = box(row.querySelector('.status'));
          const beside = link.bottom > status.top && link.top < status.bottom;
          return beside ? status.left - link.right : 9;
        });""",
        360,
    )
    assert len(seen) == len(names)
    assert min(seen) >= 4, seen


@pytest.mark.some(1)
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_of_the_results_is_cut_or_out_of_sight(page_of_run, typical, trial, width):
    remark = "doubtful rate: the timed part took 0.685 ms, below 1 ms; use more events"
    cached = {"variant": "cached", "batch": None, "latency_ns": None}
    rows = [
        *typical,
        trial("dataframe", variant="polars", batch=None, workers=2, reason=remark),
        *(trial("spark", repetition=n, **cached) for n in (1, 2)),
        trial("spark", repetition=3, status="crash", reason="it broke " * 40, **cached),
    ]
    seen = ask(page_of_run(rows), PROBE, width)
    assert seen["beyond"] == []
    assert (seen["rows"], seen["statuses"]) == (41, 41)
    assert seen["number_lines"] == 1 or width < 500


@pytest.mark.some(1)
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_names_and_marks_of_the_charts_do_not_overlap_and_fill_the_width(
    page_of_run, typical, width
):
    seen = ask(
        page_of_run(typical),
        """
        const box = element => element.getBoundingClientRect();
        const all = (selector, place = document) => [...place.querySelectorAll(selector)];
        const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
        const rows = all('.rates tbody tr').filter(row => row.cells.length === 3);
        const figures = all('.rates figure').map(box);
        const line = figures.filter(one => one.top === figures[0].top);
        return {
          overlaps: rows.filter(row => {
            const parts = ['th a', 'td.dots > div', '.median'].map(part => row.querySelector(part));
            const boxes = parts.filter(part => part).map(box);  // a line without a rate has no median
            return boxes.some((part, n) => n && !apart(boxes[n - 1], part));
          }).map(row => row.textContent),
          ticks: all('.rates thead').filter(head => {
            const ticks = all('.tick', head).map(box);
            return ticks.some((tick, n) => n && !apart(ticks[n - 1], tick));
          }).length,
          outside: all('.dot').filter(dot => {
            const room = box(dot.closest('div')), at = box(dot);
            return at.left < room.left - 6 || at.right > room.right + 6;
          }).length,
          width: line.reduce((sum, one) => sum + one.width, 0) / box(document.querySelector('main')).width,
          folded: !document.querySelector('details.every').open,
          height: document.documentElement.scrollHeight,
        };""",
        width,
    )
    assert (seen["overlaps"], seen["ticks"], seen["outside"]) == ([], 0, 0)
    assert seen["width"] > 0.9
    assert seen["folded"] == (width <= 768)
    assert width > 360 or seen["height"] < 8_000


def test_no_table_is_cut_on_a_desktop_whatever_is_unfolded(page_of_run, typical, offered, a_search):
    rows, meta = a_search()
    why = "backlog grows by 900 events/s, 2.25% of the rate, above 1.0%; " * 4
    rows += [*typical, offered(), offered(rate_eps=5e4, window_s=5.0)]
    rows += [offered(rate_eps=2e5, status="unsustained", reason=why)]
    page = page_of_run(rows, meta=meta)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<details", "<details open"), encoding="utf-8")
    cut = """
    return [...document.querySelectorAll('.scroll')]
      .filter(box => box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1)
      .map(box => box.getAttribute('aria-label'));"""
    assert ask(page, cut, 1280) == []


@pytest.mark.some(1)
@pytest.mark.parametrize("width", [360, 1400])
def test_loads_searches_and_energy_fit_the_window_too(page_of_run, trial, offered, a_search, width):
    rows, meta = a_search()
    joules = {"energy_source": "powercap", "energy_gross_j": 1.0, "energy_j_per_1000": 0.12}
    rows += [trial(eps=2e8), offered(**joules)]
    rows += [offered(rate_eps=5e4, status="unsustained", reason="it does not keep up " * 30)]
    page = page_of_run(rows, meta=meta)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<details>", "<details open>"), encoding="utf-8")
    seen = ask(page, PROBE, width)
    assert seen["wide"] <= seen["view"] <= width
    assert seen["rows"] == 4
    assert seen["cut"] == 0
    assert {"multicore, 1 worker, poisson-50000 \u25b2", "multicore p99"} <= set(seen["texts"])
    assert {"30.0 k/s \u2013 30.6 k/s", "120 mJ"} <= set(seen["texts"])
    assert min(seen["panels"]) > 290


A4_ACROSS = 1032  # 297 mm less two margins of 12, at 96 px an inch


def test_on_paper_nothing_is_cut_folded_or_filtered_away(page_of_run, typical, offered, a_search):
    rows, meta = a_search()
    rows += [*typical, offered(), offered(rate_eps=5e4, window_s=5.0)]
    page = page_of_run(rows, meta=meta)
    text = page.read_text(encoding="utf-8")
    printed = text.replace("@media print", "@media all").replace("@media screen", "@media speech")
    page.write_text(printed, encoding="utf-8")
    seen = ask(
        page,
        """
        const box = document.querySelector('#results input[type=search]');
        box.value = 'spark';
        box.dispatchEvent(new Event('input'));
        const all = selector => [...document.querySelectorAll(selector)];
        const seen = element => element.getBoundingClientRect().height > 0;
        const right = document.documentElement.clientWidth + 1;
        return {
          rows: all('#results tr[data-cell]').filter(seen).length,
          folded: all('details:not([open]) table, details:not([open]) pre').filter(e => !seen(e)),
          cut: all('table').filter(t => seen(t) && t.getBoundingClientRect().right > right)
            .map(t => t.caption.textContent),
          tools: all('nav, .filter, .link').filter(seen).length,
        };""",
        A4_ACROSS,
    )
    assert seen == {"rows": 39, "folded": [], "cut": [], "tools": 0}
