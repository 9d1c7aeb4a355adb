"""`lab report` with several runs, and the page that it writes."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamlab.lab.cli import call
from streamlab.lab.cli.results import compare, report
from tests.reports.chromium import NEEDS_CHROMIUM, ask
from tests.reports.conftest import META


@pytest.fixture
def runs(make_run, trial):
    """Three runs of two cells, seven processes each: the second is slower, the third like A."""
    found = []
    for name, factor in (("a", 1.0), ("b", 0.8), ("c", 1.001)):
        rows = [
            trial(variant=variant, repetition=n, eps=eps * factor * (1 + n / 1000), fingerprint=fp)
            for variant, eps, fp in (("dgs", 2e8, "f1"), ("vsn", 1e8, "f2"))
            for n in range(1, 8)
        ]
        commit = {"commit": name * 40, "dirty_diff_sha256": None}
        meta = META | {"vcs": commit, "lab_version": f"0.{name}"}
        found.append(make_run(rows, name=name, meta=meta))
    return found


def page_of_runs(*arguments):
    done = CliRunner().invoke(report, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return Path(done.output.strip()).read_text(encoding="utf-8")


def words(page):
    page = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_ratios_and_intervals_are_those_of_lab_compare(runs):
    text = words(page_of_runs(*runs))
    for other in runs[1:]:
        lines = CliRunner().invoke(compare, [str(runs[0]), str(other)]).output.splitlines()
        rows = [[part.strip() for part in line.split("|")] for line in lines if "/w1/" in line]
        ratios = [row for row in rows if len(row) > 5 and row[2] in ("throughput", "p50", "cpu")]
        assert len(ratios) == 6
        for row in ratios:
            low, _, high = row[6].partition(" - ")
            assert f"{row[5]} {low} \N{EN DASH} {high} {row[9]}" in text
    assert "worse" in text and "no difference shown" in text


def test_colours_agree_with_the_words(runs):
    page = page_of_runs(*runs)
    for part in page.split("<tr id=")[1:]:
        for ratio, word in re.findall(
            r'<td[^>]*/ A"><span(.*?)</span>.*?verdict.*?<span class="(.*?)"', part
        ):
            assert ('class="unclear"' in ratio and ">~ " in ratio) == (word == "range")
    assert 'class="unclear"' in page and 'class="status bad"' in page


def test_the_page_states_the_differences_and_nothing_else(runs):
    page = page_of_runs(*runs)
    section = words(page[page.index('id="differs"') :])
    assert f"Vcs: commit {'a' * 40} {'b' * 40} {'c' * 40}" in section
    assert "Run: lab version 0.a 0.b 0.c" in section
    assert "Sample CPU" not in section


def test_the_page_is_one_file_with_its_own_policy(runs, tmp_path):
    page = page_of_runs(*runs, "--out", tmp_path / "new" / "page.html")
    assert "Content-Security-Policy" in page and "http" not in page.replace("http-equiv", "")
    assert page == page_of_runs(*runs, "--out", tmp_path / "again.html")
    assert (tmp_path / "new").is_dir() and len(list((tmp_path / "new").iterdir())) == 1


def test_runs_of_two_machines_have_values_and_no_ratio(runs, make_run, trial):
    host = META["host"] | {"cpu_model": "Another <CPU>"}
    rows = [trial(repetition=n, eps=4e8, fingerprint="else") for n in range(1, 8)]
    away = make_run(rows, name="away", meta=META | {"host": host})
    page = page_of_runs(runs[0], away)
    text = words(page)
    assert "B may not be compared with A" in text
    assert "host.cpu_model is 'Sample CPU <2.6 GHz>' in A, 'Another <CPU>' in B" in text
    assert "400 M/s n = 7 \N{EN DASH} not comparable: host.cpu_model" in text
    assert "Another <CPU>" not in page
    assert re.search(r"\d\.\d{3} \N{EN DASH} \d\.\d{3}", text) is None


def test_a_cell_that_is_wrong_or_missing_in_a_run_has_its_status_there(runs, make_run, trial):
    rows = [trial(status="wrong_output", reason="1 missing", fingerprint="f1")]
    text = words(page_of_runs(runs[0], make_run(rows, name="wrong")))
    assert re.search(r"event_window/multicore/dgs/w1/b4096 # 201 M/s n = 7 wrong_output", text)
    assert re.search(r"event_window/multicore/vsn/w1/b4096 # 100 M/s n = 7 not run", text)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "none"], "'none' is neither a run's directory"),
        (["a", "b", "a"], "run a is named twice"),
        (["a", "broken"], "is damaged"),
        (["a", "other"], "have no cell in common"),
    ],
)
def test_bad_input_is_a_user_error(runs, make_run, trial, monkeypatch, capfd, names, message):
    monkeypatch.setenv("LAB_RUNS", str(runs[0].parent))
    broken = make_run([trial()], name="broken")
    (broken / "run.json").write_text(json.dumps({"schema_version": 2}), encoding="utf-8")
    make_run([trial("spark", fingerprint="f9")], name="other")
    assert call(["report", *names]) == 2
    out, err = capfd.readouterr()
    assert message in err and "Traceback" not in out + err


@pytest.mark.some(1)
@pytest.mark.browser
@NEEDS_CHROMIUM[1]
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_the_window(runs, tmp_path, width):
    page = tmp_path / "page.html"
    page_of_runs(*runs, "--out", page)
    seen = ask(
        page,
        """
        const root = document.documentElement;
        const cut = [...document.querySelectorAll('.cards')]
          .filter(table => table.scrollWidth > table.closest('.scroll').clientWidth + 1).length;
        return [root.scrollWidth <= root.clientWidth, cut];""",
        width,
    )
    assert seen == [True, 0]
