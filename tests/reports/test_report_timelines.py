"""Trials over time: from the real writer of series to the drawing."""

import re

import numpy as np
import pytest

from streamlab.engines.protocol import Progress
from streamlab.lab.measure.series import Phases, Recording, Track, write_series
from streamlab.reports.page import timelines as chosen
from streamlab.reports.page import write_report
from streamlab.reports.trial_series import read_timeline, timeline
from streamlab.results.seal import seal_files

STEP_NS = 100_000_000


def write(path, *, rows=20, energy=False):
    """A trial of `rows` x 100 ms: 2 rows of warm-up, drain from row 15; 500 events each row."""
    counts = np.full(rows, 500, dtype=np.int64)
    latency = np.arange(1, rows + 1, dtype=np.int64) * 1_000
    times = [row * STEP_NS + 1 for row in range(rows)]
    tracks = {
        "cpu_s": Track(times_ns=times, values=[0.15 * row for row in range(rows)]),
        "rss_bytes": Track(times_ns=times, values=[float(200 << 20)] * rows),
    }
    if energy:
        values = [2.0 * row for row in range(rows)]
        tracks["energy_package-0_j"] = Track(times_ns=times, values=values)
    write_series(
        Recording(
            phases=Phases(
                start_ns=0,
                end_ns=rows * STEP_NS,
                warm_up_ns=2 * STEP_NS,
                load_end_ns=15 * STEP_NS,
            ),
            progress=Progress(
                step_ns=STEP_NS,
                emitted=counts,
                consumed=counts - 10,
                outputs=counts,
                latency_p50_ns=latency,
                latency_p99_ns=latency * 3,
                latency_max_ns=latency * 5,
            ),
            tracks=tracks,
        ),
        path,
    )


@pytest.fixture
def run_with(make_run):
    """Write a run whose trials have series; rows say so by `series`."""

    def build(rows, **more):
        run_dir = make_run(rows)
        for row in rows:
            if row.get("series"):
                write(run_dir / row["series"], **more)
                seal_files(run_dir, run_dir / row["series"])
        return run_dir

    return build


def test_a_timeline_holds_the_numbers_of_the_series(tmp_path):
    write(tmp_path / "one.parquet", energy=True)
    found = read_timeline(tmp_path, "one.parquet")
    assert found is not None
    assert [(span.name, span.begin_s, span.end_s) for span in found.phases] == [
        ("warm_up", 0.0, 0.2),
        ("window", 0.2, 1.5),
        ("drain", 1.5, 2.0),
    ]
    assert found.rates["emitted"][:3] == pytest.approx([5_000.0] * 3)
    assert found.rates["emitted"][-1] is None  # the last row is partial
    assert found.backlog[:3] == [10, 20, 30]
    assert found.latency_ns["p99"][2] == 9_000
    assert found.cores[1] == pytest.approx(1.5)
    assert found.power_w["package-0"][1] == pytest.approx(20.0)


def test_unrecorded_values_stay_unknown():
    table = {"t_ns": [0, STEP_NS, 2 * STEP_NS], "phase": ["window"] * 3}
    found = timeline(table | {"cpu_s": [1.0, None, 1.4]}, 0)
    assert found is not None
    assert found.backlog == [None, None, None]
    assert found.cores == [None, None, None]  # the last is in a partial row
    assert found.power_w == {}


def test_many_rows_make_few_points_that_keep_the_highest_latency():
    rows = 2_000
    table = {
        "t_ns": [row * STEP_NS for row in range(rows)],
        "phase": ["window"] * rows,
        "latency_max_ns": [7] * 1_234 + [9_999] + [7] * (rows - 1_235),
    }
    found = timeline(table, 0)
    assert found is not None
    assert len(found.times_s) == 400
    assert max(found.latency_ns["max"]) == 9_999


def test_phases_are_shaded_and_labelled(run_with, offered):
    run_dir = run_with([offered(series="series/a.parquet")], energy=True)
    page = write_report(run_dir).read_text(encoding="utf-8")
    drawing = re.search(r'<svg[^>]*class="timeline".*?</svg>', page, re.DOTALL)
    assert drawing is not None
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", drawing[0])
    assert {"warm-up", "window", "drain", "events/s", "backlog, events", "memory"} <= set(texts)
    assert {"latency from due time", "CPU, cores in use", "power, W"} <= set(texts)
    assert drawing[0].count("<rect") == 2


def test_a_trial_that_was_not_verified_has_no_values_at_its_axes(run_with, offered):
    rows = [
        offered(series="series/a.parquet"),
        offered(series="series/b.parquet", status="invalid", reason="<lag>", repetition=2),
    ]
    page = write_report(run_with(rows)).read_text(encoding="utf-8")
    good, bad = re.findall(r'<svg[^>]*class="timeline".*?</svg>', page, re.DOTALL)
    assert "200 MiB" in good
    assert "MiB" not in bad
    assert "5 k" not in bad
    assert "&lt;lag&gt;" in page
    assert "<lag>" not in page


def test_the_first_trial_of_each_cell_and_all_that_are_not_ok_are_drawn(run_with, offered):
    rows = [
        offered(repetition=n, series=f"series/{n}.parquet", status=status, reason="r")
        for n, status in enumerate(("ok", "ok", "unsustained", "ok"), 1)
    ]
    page = write_report(run_with(rows)).read_text(encoding="utf-8")
    assert re.findall(r"<summary>event_window[^<]*#(\d)", page) == ["1", "3"]
    assert "2 of 4." in page


def test_trials_beyond_the_limit_are_left_out_and_counted(run_with, offered, monkeypatch):
    monkeypatch.setattr(chosen, "MAX", 2)
    rows = [
        offered(repetition=n, series=f"series/{n}.parquet", status="unsustained", reason="r")
        for n in range(1, 6)
    ]
    page = write_report(run_with(rows)).read_text(encoding="utf-8")
    assert page.count('class="timeline"') == 2
    assert "3 more that are not ok are left out" in page


def test_a_series_that_is_missing_or_damaged_does_not_stop_the_report(make_run, offered):
    rows = [
        offered(repetition=1, series="series/none.parquet"),
        offered(repetition=2, series="series/bad.parquet", status="unsteady", reason="r"),
    ]
    run_dir = make_run(rows)
    (run_dir / "series").mkdir()
    bad = run_dir / "series" / "bad.parquet"
    bad.write_bytes(b"PAR1")
    seal_files(run_dir, bad)
    bad.write_bytes(b"PAR2")
    page = write_report(run_dir).read_text(encoding="utf-8")
    unreadable = "2 more have no drawing because the file is missing or damaged: "
    assert unreadable + "series/none.parquet, series/bad.parquet." in page


def test_of_many_missing_series_five_are_named(page_of_run, offered):
    rows = [
        offered(repetition=n, series=f"series/{n}.parquet", status="unsteady", reason="r")
        for n in range(1, 8)
    ]
    page = page_of_run(rows).read_text(encoding="utf-8")
    assert "series/1.parquet, series/2.parquet, series/3.parquet, series/4.parquet" in page
    assert "series/5.parquet and 2 more." in page
    assert "series/6.parquet" not in page
