"""Cells over the runs of a machine: steps, changes that are no step, and the page that shows them."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from streamlab.lab.cli import call
from streamlab.lab.cli.results import history as command
from streamlab.reports.figures.history import draw_history
from streamlab.reports.steps import history, runs_in_words
from streamlab.results.compare import METRICS
from streamlab.results.stats.decision import ONE_STAGE, Arms, GateVerdict, decide_once
from streamlab.results.store import Run
from tests.reports.conftest import META, started
from tests.results.records import run_meta, trial_row

SEED = 1


def made(name, cells, **more):
    """A run of cells, each with its values of throughput, in memory."""
    rows = [
        trial_row(
            {"cell": cell, "status": "ok", "throughput_eps": value, "fingerprint": cell} | more
        )
        for cell, values in cells.items()
        for value in values
    ]
    return Run(path=Path(name), meta=run_meta(META), rows=tuple(rows))


def around(middle, n=8):
    return [middle * (1 + (i - n / 2) / 1000) for i in range(n)]


def steps(*runs, metric="throughput"):
    found = history(runs, METRICS[metric], seed=SEED)
    return {track.cell: [(s.before, s.after, s.better) for s in track.steps]
            for track in found.tracks}  # fmt: skip


def test_a_step_is_marked_where_it_happens_and_which_way():
    runs = [made(str(n), {"up": around(eps), "flat": around(7.0)}) for n, eps in
            enumerate((100.0, 100.0, 130.0, 130.0, 90.0))]  # fmt: skip
    assert steps(*runs) == {"up": [(1, 2, True), (3, 4, False)], "flat": []}


def test_lower_is_better_where_the_metric_says_so():
    runs = [made(str(n), {"a": around(5.0)}, cpu_s=cpu, events=10**6) for n, cpu in
            enumerate((1.0, 2.0))]  # fmt: skip
    runs = [
        Run(path=run.path, meta=run.meta, rows=tuple(
            replace(row, cpu_s=row.cpu_s * (1 + i / 1000)) for i, row in enumerate(run.rows)))
        for run in runs
    ]  # fmt: skip
    assert steps(*runs, metric="cpu") == {"a": [(0, 1, False)]}


def test_intervals_that_meet_make_no_step_whatever_the_test_says():
    low = [100, 101, 102, 103, 104, 105, 106, 107, 108.0]
    high = [105.5, 120, 121, 122, 123, 124, 125, 126, 127.0]
    met = [104.5, 104.8, 121, 122, 123, 124, 125, 126, 127.0]
    for new in (high, met):
        arms = Arms(old=tuple(1 / x for x in low), new=tuple(1 / x for x in new))
        (decided,) = decide_once({("c", ""): arms}, ONE_STAGE, np.random.default_rng(SEED))
        assert decided.verdict is GateVerdict.IMPROVED
    assert steps(made("a", {"c": low}), made("b", {"c": high})) == {"c": [(0, 1, True)]}
    assert steps(made("a", {"c": low}), made("b", {"c": met})) == {"c": []}


def test_a_slow_drift_a_small_change_and_few_processes_make_no_step():
    drift = [made(str(n), {"c": around(100 * 1.02**n)}) for n in range(8)]
    assert steps(*drift) == {"c": []}
    few = [made(str(n), {"c": around(eps, n=3)}) for n, eps in enumerate((100.0, 300.0))]
    found = history(few, METRICS["throughput"], seed=SEED)
    assert (found.tracks[0].steps, found.blind, found.needed) == ((), 1, 5)
    assert [point.is_interval for point in found.tracks[0].points] == [False, False]


def test_nothing_is_compared_across_a_change_of_input_or_a_run_without_a_number():
    other = made("b", {"c": around(300.0)}, fingerprint="new")
    found = history([made("a", {"c": around(100.0)}), other], METRICS["throughput"], seed=SEED)
    assert [(track.fingerprint, track.steps) for track in found.tracks] == [("c", ()), ("new", ())]
    broken = made("b", {"c": [None]}, status="crash")
    runs = [made("a", {"c": around(100.0)}), broken, made("c", {"c": around(200.0)})]
    (track,) = history(runs, METRICS["throughput"], seed=SEED).tracks
    assert track.failed == ((1, "crash"),)
    assert [(step.before, step.after) for step in track.steps] == [(0, 2)]


def test_noise_alone_makes_hardly_a_step_and_a_real_one_is_seen():
    rng = np.random.default_rng(7)
    cells = [f"c{n}" for n in range(10)]

    def run(name, factor=1.0):
        return made(name, {c: factor * 1e6 * rng.lognormal(0, 0.05, 10) for c in cells})

    same = steps(*(run(str(n)) for n in range(21)))
    assert sum(map(len, same.values())) <= 1  # of 200 comparisons
    changed = steps(run("a"), run("b", factor=1.4))
    assert list(changed.values()) == [[(0, 1, True)]] * 10


def test_labels_of_steps_and_marks_of_many_runs_do_not_cover_each_other():
    runs = [made(str(n), {"c": around(100.0 if n // 3 % 2 else 150.0)}) for n in range(200)]
    (track,) = history(runs, METRICS["throughput"], seed=SEED).tracks
    assert len(track.steps) == 66
    svg = draw_history(track, [str(n) for n in range(200)], metric="throughput", alt="")
    labels = re.findall(r'<text x="([\d.]+)" y="(\d+)"[^>]*font-weight="bold"[^>]*>(.)', svg)
    for sign in "+\N{MINUS SIGN}":
        places = [(float(x), int(y)) for x, y, first in labels if first == sign]
        assert len(places) > 3 and len({y for _, y in places}) == 1
        assert all(b - a >= 30 for (a, _), (b, _) in itertools.pairwise(places))
    dots = re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="([\d.]+)" fill', svg)
    assert all(float(r) < 1 for _, r in dots) and len(dots) == 200


def test_ticks_of_memory_are_round_numbers_of_one_unit():
    sizes = [1.31e9, 1.52e9, 1.71e9]
    rows = [
        made(str(n), {"c": around(1.0)}, peak_rss_bytes=int(size)) for n, size in enumerate(sizes)
    ]
    (track,) = history(rows, METRICS["rss"], seed=SEED).tracks
    svg = draw_history(track, list("abc"), metric="rss", alt="")
    ticks = re.findall(r'text-anchor="end" fill="var\(--muted\)">([^<]+)', svg)
    assert ticks[:-1] == ["1.2 GiB", "1.4 GiB", "1.6 GiB"]


@pytest.mark.parametrize(
    ("indices", "text"), [([3], "run 4"), ([0, 1, 2, 4], "runs 1 to 3, 5"), ([1, 0], "runs 1 to 2")]
)
def test_runs_are_named_by_their_numbers(indices, text):
    assert runs_in_words(indices) == text


@pytest.fixture
def runs(make_run, trial, monkeypatch, tmp_path):
    """Three runs of one machine, the last slower, begun an hour after the other."""
    found = []
    for hour, (name, eps) in enumerate((("x", 2e8), ("y", 2e8), ("z", 1e8))):
        rows = [
            trial(variant=variant, repetition=n, eps=eps * (1 + n / 1000), fingerprint=variant)
            for variant in ("dgs", "<b>odd</b>")
            for n in range(1, 8)
        ]
        meta = META | started(f"2026-11-21T0{9 - hour}:00:00+00:00")
        found.append(make_run(rows, name=name, meta=meta))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    return found


def page_of(*arguments):
    done = CliRunner().invoke(command, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return Path(done.output.strip()).read_text(encoding="utf-8")


def test_the_page_draws_each_cell_over_all_runs_in_order_of_time(runs, tmp_path):
    page = page_of()
    assert page.index(">z<") < page.index(">y<") < page.index(">x<")
    assert page.count('class="timeline"') == 2
    assert "2 steps, 0 of them for the worse." in page
    spots = re.findall(r'class="spot"[^>]*><title>([^<]+)</title>', page)
    assert spots[0].startswith("1. z: 100,400,000 events/s (median of 7; 95 % interval 100,100,000")
    assert spots[1].endswith("; step, better: 2.000 times run 1")
    assert "the two intervals must not overlap" in page
    assert "<b>odd" not in page and "http" not in page.replace("http-equiv", "")
    assert page == page_of("--out", tmp_path / "again.html")


def test_other_machines_and_damaged_runs_are_left_out_by_name(runs, make_run, trial):
    host = META["host"] | {"cpu_model": "Another"}
    make_run([trial()], name="away", meta=META | {"host": host} | started("2025-01-01"))
    broken = make_run([trial()], name="broken")
    (broken / "run.json").write_text(json.dumps({"schema_version": 2}), encoding="utf-8")
    page = page_of()
    assert "away: made on another machine" in page
    assert re.search(r"broken: [^<]*run.json is damaged", page)
    assert page.count('<th scope="row" class="num">') == 3


def test_a_machine_after_an_update_is_still_the_same_machine(runs, make_run, trial):
    host = META["host"] | {"memory_bytes": 8 << 30, "kernel": "6.1"}
    make_run([trial()], name="before", meta=META | {"host": host} | started("2030-01-01"))
    updated = host | {"memory_bytes": (8 << 30) - 150_000, "kernel": "6.6"}
    make_run([trial()], name="after", meta=META | {"host": updated} | started("2030-01-02"))
    halved = updated | {"cpu_quota_cores": 0.5}
    make_run([trial()], name="half", meta=META | {"host": halved} | started("2025-01-01"))
    page = page_of()
    assert "before: made" not in page
    assert "half: made on another machine (host.cpu_quota_cores is 0.5, not" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "nowhere"], "'nowhere' is neither a run's directory"),
        (["x", "away"], "was made on another machine than"),
        (["x", "broken"], "is damaged"),
        (["--runs", "empty"], "/empty; make one with `lab run`"),
    ],
)
def test_bad_input_is_a_user_error(runs, make_run, trial, capfd, arguments, message):
    host = META["host"] | {"cpu_model": "Another"}
    make_run([trial()], name="away", meta=META | {"host": host})
    broken = make_run([trial()], name="broken")
    (broken / "run.json").write_text(json.dumps({"schema_version": 2}), encoding="utf-8")
    assert call(["history", *arguments]) == 2
    out, err = capfd.readouterr()
    assert message in err and "Traceback" not in out + err


def test_one_run_and_a_run_without_a_number_are_still_a_page(make_run, trial):
    alone = make_run([trial(status="crash", reason="it broke")], name="alone")
    page = page_of(alone, "--out", alone / "page.html")
    assert "No cell has a number." in page and "No step." in page
