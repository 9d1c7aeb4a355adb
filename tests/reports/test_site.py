"""`lab site`: its pages and links, the files that an update writes, and the comparison in a browser."""

import re
from html import unescape
from urllib.parse import unquote

import pytest

from streamlab.lab.cli import call
from streamlab.reports.page.site import write_site
from tests.reports.chromium import NEEDS_CHROMIUM, ask, browse
from tests.reports.conftest import META, parse, started, words, write_run
from tests.results.records import change_meta

SEED = 1
SLOW, FAST = "event_window/multicore/slow/w1/b4096", "event_window/multicore/fast/w1/b4096"


@pytest.fixture
def runs(tmp_path, trial):
    """A folder of three runs of two cells, one later than the other; `fast` is slower in the last."""
    folder = tmp_path / "runs"
    for day, (name, factor) in enumerate((("x", 1.0), ("y", 1.001), ("z", 0.7)), start=1):
        rows = [
            trial(
                variant=variant,
                repetition=n,
                eps=eps * (1 + n / 1000) * (factor if variant == "fast" else 1),
                fingerprint=variant,
            )
            for variant, eps in (("slow", 1e8), ("fast", 2e8))
            for n in range(1, 8)
        ]
        meta = META | {
            **started(f"2026-11-2{day}T08:00:00+00:00"),
            "vcs": {"commit": name * 40, "dirty_diff_sha256": None},
        }
        write_run(folder, rows, name=name, meta=meta)
    return folder


def made(runs, out):
    return write_site(sorted(runs.iterdir()), out, seed=SEED)


def page_of(cell, site):
    index = (site / "index.html").read_text(encoding="utf-8")
    return site / "cells" / re.search(rf'href="cells/([^"]+)">{cell}<', index)[1]


def test_every_link_of_the_site_leads_to_a_page_and_no_page_needs_a_network(runs, tmp_path):
    site = tmp_path / "site"
    made(runs, site)
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == 2 + 3 + 2
    outlines = {page: parse(page.read_text(encoding="utf-8")) for page in pages}
    for page, outline in outlines.items():
        text = page.read_text(encoding="utf-8").replace("http-equiv", "")
        assert "http" not in text and "Content-Security-Policy" in text
        for link in outline.links:
            path, _, fragment = link.partition("#")
            target = (page.parent / unquote(path)).resolve() if path else page
            if not link.startswith("data:"):
                assert target in outlines, link
                if fragment and "=" not in fragment:
                    assert fragment in outlines[target].ids, link


def test_the_first_page_lists_runs_and_cells_with_their_steps(runs, tmp_path):
    index = made(runs, tmp_path / "site").index.read_text(encoding="utf-8")
    text = words(parse(index))
    assert "z 2026-11-23 08:00 zzzzzzzzzzzz Sample CPU <2.6 GHz>, 2 cores 2 2 14" in text
    assert text.index("z 2026") < text.index("y 2026") < text.index("x 2026")
    assert f"{FAST} 3 141 M/s 2 2 z" in text
    assert "compare.html#a=y&amp;b=z" in index and "compare.html#a=x&amp;b=y" in index


def test_a_cells_page_marks_its_steps_with_the_commits_and_the_comparison(runs, tmp_path):
    site = tmp_path / "site"
    made(runs, site)
    page = page_of(FAST, site).read_text(encoding="utf-8")
    text = words(parse(page))
    assert "throughput 2 → 3 0.699 worse yyyyyyyyyyyy → zzzzzzzzzzzz both runs" in text
    assert "cpu 2 → 3 1.430 worse" in text
    assert "step, worse: 0.699 times run 2" in page
    assert "No step." in page_of(SLOW, site).read_text(encoding="utf-8")


def test_an_update_writes_only_what_has_changed(runs, tmp_path, trial):
    site = tmp_path / "site"
    assert made(runs, site).pages == 3 + 2
    before = {path: path.read_bytes() for path in site.rglob("*.*")}
    assert made(runs, site).pages == 0
    assert {path: path.read_bytes() for path in site.rglob("*.*")} == before
    write_run(runs, [trial(variant="slow", fingerprint="slow")], name="later", meta=META)
    assert made(runs, site).pages == 1 + 1  # the run's page and its cell's, not the other cell's
    change_meta(runs / "x", name="renamed")
    assert made(runs, site).pages == 1
    (site / "data" / "x.js").unlink()
    assert made(runs, site).pages == 1


def test_runs_with_other_settings_are_apart_and_offer_no_comparison(runs, tmp_path, trial):
    rows = [trial(variant="fast", fingerprint="new", repetition=n) for n in range(1, 8)]
    write_run(runs, rows, name="zz", meta=META | started("2026-11-24T08:00:00+00:00"))
    site = tmp_path / "site"
    index = made(runs, site).index.read_text(encoding="utf-8")
    assert '&amp;b=z"' in index and '&amp;b=zz"' not in index
    page = page_of(FAST, site).read_text(encoding="utf-8")
    text = words(parse(page))
    assert "Runs 1 to 3 throughput : catch-up rate" in text and "Run 4 throughput" in text
    assert ">new<" not in page and "cannot be compared with others" in text
    assert "#a=y&amp;b=z&amp;" in page and "b=zz&amp;" not in page


def test_runs_of_two_machines_have_a_section_each_and_no_common_steps(runs, tmp_path):
    change_meta(runs / "z", host=META["host"] | {"cpu_model": "Another"})
    site = tmp_path / "site"
    made(runs, site)
    page = page_of(FAST, site).read_text(encoding="utf-8")
    assert page.count('<section id="machine-') == 2 and page.count("No step.") == 2


def test_the_command_takes_folders_names_and_paths_and_lists_what_it_cannot_read(
    runs, tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("LAB_RUNS", str(runs))
    (runs / "y" / "run.json").write_text("{}", encoding="utf-8")
    site = tmp_path / "site"
    assert call(["site", "--out", str(site)]) == 0
    out, err = capfd.readouterr()
    assert out == f"{site}/index.html\n" and "y is left out" in err
    assert "y: " in words(parse((site / "index.html").read_text(encoding="utf-8")))
    assert call(["site", str(runs), str(runs / "x"), "z", "--out", str(site)]) == 0
    assert "3 runs, 0 pages" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere", "--out", "site"], "'nowhere' is neither a run's directory"),
        (["--out", "site"], "no run in"),
        (["runs/x", "copy/x", "--out", "site"], "several runs have the name x"),
        (["runs/x", "--out", "runs/x/run.json/site"], "cannot be written"),
        (["runs/x"], "Missing option '--out'"),
    ],
)
def test_bad_input_is_a_user_error(runs, tmp_path, trial, monkeypatch, capfd, arguments, reason):
    write_run(tmp_path / "copy", [trial()], name="x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "empty"))
    assert call(["site", *arguments]) == 2
    out, err = capfd.readouterr()
    assert reason in err and "Traceback" not in out + err


class TestComparison:
    """The page that compares two runs, in a browser and from disk."""

    pytestmark = NEEDS_CHROMIUM

    @staticmethod
    def shown(runs, tmp_path, fragment):
        site = tmp_path / "site"
        made(runs, site)
        dom = browse(site / "compare.html", tmp_path / "profile", fragment=fragment)
        text = unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", dom, flags=re.DOTALL))
        return dom, " ".join(text[text.index("Stream lab: two runs") :].split())

    def test_an_address_names_the_runs_and_the_cells(self, runs, tmp_path):
        dom, text = self.shown(runs, tmp_path, "a=x&b=z&cells.filter=fast+throughput")
        assert "lab compare x z" in text
        assert f"{FAST} throughput 201 M/s 141 M/s 0.700 7, 7 worse" in text
        assert f"{SLOW} throughput 100 M/s 100 M/s ~ 1.000 7, 7 no difference shown" in text
        assert "Vcs: commit " + "x" * 40 + " " + "z" * 40 in text
        visible = re.findall(r'<tr (?![^>]*hidden)[^>]*data-cell="([^"]+)"', dom)
        assert visible == [FAST]

    def test_processes_that_no_test_could_tell_apart_are_too_few(self, tmp_path, trial):
        for name, eps in (("x", 1e8), ("y", 3e8)):
            row = trial(variant="fast", eps=eps, fingerprint="fast")
            write_run(tmp_path / "runs", [row], name=name, meta=META)
        _, text = self.shown(tmp_path / "runs", tmp_path, "a=x&b=y")
        assert "~ 3.000 1, 1 too few" in text

    def test_machines_and_inputs_that_differ_have_no_ratio(self, runs, tmp_path, trial):
        change_meta(runs / "z", host=META["host"] | {"cpu_model": "Another"})
        _, text = self.shown(runs, tmp_path, "a=y&b=z")
        assert "another machine" in text and "worse" not in text
        rows = [trial(variant="fast", fingerprint="new"), trial(variant="slow", status="crash")]
        write_run(runs, rows, name="w", meta=META)
        _, text = self.shown(runs, tmp_path, "a=x&b=w")
        assert (
            f"{FAST} throughput 201 M/s 200 M/s \N{EN DASH} 7, 1 input or settings differ" in text
        )
        assert f"{SLOW} throughput 100 M/s crash \N{EN DASH} 7, 0" in text

    def test_an_unknown_run_is_named_and_nothing_is_loaded(self, runs, tmp_path):
        dom, text = self.shown(runs, tmp_path, "a=x&b=../../evil")
        assert "The site has no run ../../evil." in text and "<script src" not in dom

    def test_the_names_of_runs_stay_text(self, runs, tmp_path, trial):
        evil = "<img src=x onerror=alert(1)>&'#%"
        write_run(runs, [trial(variant=evil, workload=evil)], name=evil, meta=META)
        site = tmp_path / "site"
        made(runs, site)
        for page in [*site.glob("*.html"), *site.glob("cells/*.html")]:
            assert "<img" not in page.read_text(encoding="utf-8")
        fragment = "a=x&b=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%26'%23%25"
        dom, text = self.shown(runs, tmp_path, fragment)
        assert "<img" not in dom and f"{evil}/multicore/{evil}/w1/b4096 throughput not run" in text

    @pytest.mark.parametrize("width", [390, 1280])
    def test_no_page_is_wider_than_the_window(self, runs, tmp_path, width):
        site = tmp_path / "site"
        made(runs, site)
        wide = "return [document.documentElement.scrollWidth, innerWidth];"
        for page in (site / "index.html", page_of(FAST, site), site / "compare.html"):
            scrolled, window = ask(page, wide, width)
            assert scrolled <= window, page
