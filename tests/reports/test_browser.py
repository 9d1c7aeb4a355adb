import re
import shutil
import subprocess

import pytest

from reports.page import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next((path for path in map(shutil.which, NAMES) if path), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium on PATH; install the package chromium to check the page in a browser",
    ),
]

# Appended to a copy of the page: writes into the document what the browser has laid out.
PROBE = """<script>
const seen = document.createElement('output');
const box = element => element.getBoundingClientRect();
const all = selector => [...document.querySelectorAll(selector)];
const lines = element => {
  const text = document.createRange();
  text.selectNodeContents(element);
  return new Set([...text.getClientRects()].map(rect => rect.top)).size;
};
const shown = all('svg text').filter(t => box(t).width > 0 && box(t).height > 0);
seen.id = 'probe';
seen.textContent = JSON.stringify({
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
  statuses: all('#results .status').filter(e => box(e).width > 0).length,
  unit_lines: Math.max(...all('#results .unit').map(lines)),
  colour: getComputedStyle(document.querySelector('.swatch')).backgroundColor,
});
document.body.append(seen);
</script>"""


def browse(page, profile, width=1400):
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},2000"]
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def probe(tmp_path):
    def look(page, width=1400):
        import json
        from html import unescape

        copy = tmp_path / "probed.html"
        inner = page.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>")
        copy.write_text(inner, encoding="utf-8")
        if width < 500:  # Chromium has no narrower window; a frame has any width
            frame = tmp_path / "frame.html"
            frame.write_text(
                f'<body style="margin:0"><iframe src="{copy.as_uri()}" '
                f'style="width:{width}px;height:2000px;border:0"></iframe>'
                "<script>onmessage = e => document.body.append(e.data)</script></body>",
                encoding="utf-8",
            )
            copy.write_text(
                inner.replace(
                    "document.body.append(seen);",
                    "document.body.append(seen); parent.postMessage(seen.outerHTML, '*');",
                ),
                encoding="utf-8",
            )
            dom = unescape(browse(frame, tmp_path / "profile", 800))
        else:
            dom = browse(copy, tmp_path / "profile", width)
        found = re.search(r'<output id="probe">(.*?)</output>', dom, re.DOTALL)
        assert found, dom[-2000:]
        return json.loads(unescape(found[1]))

    return look


def test_the_browser_shows_rows_figures_and_reasons(make_run, typical, tmp_path):
    dom = browse(write_report(make_run(typical)), tmp_path / "profile")
    assert len(re.findall(r'<tr data-cell="', dom)) == 39
    assert "391 M/s" in dom
    assert "reason of timeout: expected &lt;b&gt;1&lt;/b&gt; &amp; got 2" in dom
    assert dom.count("<svg ") == 6


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_fits_the_window_and_no_label_is_cut(make_run, typical, probe, width):
    seen = probe(write_report(make_run(typical)), width)
    assert seen["view"] <= width
    assert seen["wide"] <= seen["view"]
    assert seen["rows"] == 39
    assert seen["cut"] == 0
    assert {"multicore batch 4,096", "spark streaming", "100 M"} <= set(seen["texts"])
    assert min(seen["panels"]) > 300
    assert seen["colour"] != "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_of_the_results_is_cut_or_out_of_sight(make_run, typical, trial, probe, width):
    remark = "doubtful rate: the timed part took 0.685 ms, below 1 ms; use more events"
    cached = {"variant": "cached", "batch": None, "latency_ns": None}
    rows = [
        *typical,
        trial("dataframe", variant="polars", batch=None, workers=2, reason=remark),
        *(trial("spark", repetition=n, **cached) for n in (1, 2)),
        trial("spark", repetition=3, status="crash", reason="it broke " * 40, **cached),
    ]
    seen = probe(write_report(make_run(rows)), width)
    assert seen["beyond"] == []
    assert (seen["rows"], seen["statuses"]) == (41, 41)
    assert seen["unit_lines"] == 1


@pytest.mark.parametrize("width", [400, 1400])
def test_loads_searches_and_energy_fit_the_window_too(
    make_run, trial, offered, a_search, probe, width
):
    rows, meta = a_search()
    joules = {"energy_source": "powercap", "energy_gross_j": 1.0, "energy_j_per_1000": 0.12}
    estimate = {"estimate_j": 300.0, "estimate_parameters": '{"watts_per_core": 10}'}
    rows += [trial(eps=2e8), offered(**joules, **estimate)]
    rows += [offered(rate_eps=5e4, status="unsustained", reason="it does not keep up " * 30)]
    page = write_report(make_run(rows, meta=meta))
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<details>", "<details open>"), encoding="utf-8")
    seen = probe(page, width)
    assert seen["wide"] <= seen["view"] <= width
    assert seen["rows"] == 4
    assert seen["cut"] == 0
    assert {"multicore, 1 worker, poisson-50000 \u25b2", "multicore p99"} <= set(seen["texts"])
    assert {"30.0 k/s \u2013 30.6 k/s", "120 mJ", "250 mJ"} <= set(seen["texts"])
    assert min(seen["panels"]) > 300
