"""The energy record of scripted readings: recorder, columns, idle baseline, estimate."""

import json

import numpy as np
import pytest

from streamlab.lab.measure.energy import idle
from streamlab.lab.measure.energy.account import COLUMNS
from streamlab.lab.measure.energy.provider import NoCounters, Reading
from streamlab.lab.measure.energy.recorder import EnergyRecorder
from streamlab.results.schema import NAMES as SCHEMA_NAMES
from tests.lab.measure.energy.scripted import SECOND, Scripted, steady
from tests.results.records import trial_row

SOCKET = {"package-0": 50.0, "core-0": 30.0, "uncore-0": 5.0, "dram-0": 4.0, "psys": 90.0}


def recorded(provider):
    """A finished recorder; its thread never polls, so the script is all that it sees."""
    with EnergyRecorder(provider, period_s=3600) as recorder:
        pass
    return recorder


def row_of(readings, start_s=1, end_s=13, events=1_000_000, **provider):
    recorder = recorded(Scripted(readings=readings, **provider))
    return recorder.columns(start_s * SECOND, end_s * SECOND, events=events)


def test_gross_energy_is_package_plus_dram_each_counted_once():
    row = row_of(steady(SOCKET, 14))
    assert row["energy_source"] == "scripted"
    assert row["energy_reason"] is None
    assert row["energy_gross_j"] == pytest.approx(54 * 12)
    assert row["power_w"] == pytest.approx(54)
    assert row["energy_j_per_1000"] == pytest.approx(54 * 12 / 1000)
    assert json.loads(row["energy_domains"]) == pytest.approx(
        {k: v * 12 for k, v in SOCKET.items()}
    )
    assert row["energy_wraps"] == 0 and row["energy_dropped_s"] == 0
    assert row["energy_net_j"] is None and row["idle_w"] is None


def test_every_column_is_one_of_the_schema_and_none_of_the_schema_is_forgotten():
    row = row_of(steady(SOCKET, 14))
    in_schema = {name for name in SCHEMA_NAMES if name.startswith("energy_")}
    assert set(row) == in_schema | {"power_w", "idle_w"}
    assert set(COLUMNS) <= set(row)


TWO_SOCKETS = {"package-0": 40.0, "package-1": 30.0, "dram-0": 2.0, "dram-1": 3.0}
APPROX = pytest.approx


@pytest.mark.parametrize(
    ("watts", "more", "expected"),
    [
        ({"psys": 90.0, "core-0": 5.0}, {}, {"power_w": APPROX(90)}),
        (TWO_SOCKETS, {}, {"power_w": APPROX(75)}),
        (
            {"package-0": 0.0, "dram-0": 1.0},
            {},
            {"energy_gross_j": None, "power_w": None, "energy_reason": "package-0 stood still"},
        ),
        (
            {"package-0": 50.0, "dram-0": 0.0},
            {},
            {
                "energy_gross_j": APPROX(600),
                "energy_reason": "dram-0 stood still",
                "energy_domains": '{"package-0": 600.0}',
            },
        ),
        (
            {"package-0": 50.0, "package-1": 0.0},
            {},
            {"energy_gross_j": None, "energy_domains": '{"package-0": 600.0}'},
        ),
        (
            SOCKET,
            {"end_s": 4},
            {
                "energy_gross_j": APPROX(54 * 3),
                "energy_reason": "short: 3 s; below 10 s the window's edges are inexact",
            },
        ),
        (SOCKET, {"events": 0}, {"energy_j_per_1000": None}),
        (SOCKET, {"remarks": ("dram-1: denied",)}, {"energy_reason": "dram-1: denied"}),
    ],
)
def test_the_total_of_a_window_is_complete_or_missing_with_a_reason(watts, more, expected):
    row = row_of(steady(watts, 14), **more)
    assert {name: row[name] for name in expected} == expected


def test_an_unusable_provider_leaves_every_column_null_with_its_reason_and_never_0():
    row = recorded(NoCounters(reason="no counter here")).columns(0, SECOND, events=5)
    assert row.pop("energy_source") == "none"
    assert row.pop("energy_reason") == "no counter here"
    assert set(row.values()) == {None}


def test_a_package_that_freezes_has_no_total_and_a_graphics_part_may_be_off():
    readings = steady({"package-0": 50.0, "uncore-0": 5.0}, 14)

    def frozen(name):
        stuck = readings[70].counters_uj[name]
        return [
            Reading(time_ns=reading.time_ns, counters_uj={**reading.counters_uj, name: stuck})
            for reading in readings[71:]
        ]

    row = row_of([*readings[:71], *frozen("package-0")])
    assert row["energy_gross_j"] is None
    assert "package-0: 6 s of 12 s lost (the counter stood still" in row["energy_reason"]
    row = row_of([*readings[:71], *frozen("uncore-0")])
    assert json.loads(row["energy_domains"]) == {"package-0": 600.0, "uncore-0": 30.0}
    assert row["energy_reason"] is None


def test_an_interval_that_cannot_be_corrected_is_dropped_and_its_time_summed():
    readings = steady({"package-0": 50.0}, 14)
    back = [
        Reading(time_ns=r.time_ns, counters_uj={"package-0": r.counters_uj["package-0"] - cut})
        for r in readings
        for cut in [100_000_000 if r.time_ns >= 5 * SECOND else 0]
    ]
    row = row_of(back, range_uj=None)
    assert row["energy_dropped_s"] == pytest.approx(0.1)
    assert row["energy_gross_j"] == pytest.approx(50 * 11.9)
    assert "0.1 s lost" in row["energy_reason"] and "backwards" in row["energy_reason"]


def test_a_total_that_lost_more_than_one_percent_is_missing():
    row = row_of(steady(SOCKET, 14, failed=range(100, 200)))
    assert row["energy_gross_j"] is None and row["energy_j_per_1000"] is None
    assert json.loads(row["energy_domains"]) == {}
    assert row["energy_dropped_s"] == pytest.approx(13 - 9.9)
    assert "package-0: 3.1 s of 12 s lost (gone)" in row["energy_reason"]


def test_a_lost_core_domain_does_not_touch_the_total():
    readings = [
        Reading(
            time_ns=r.time_ns,
            counters_uj={
                k: v for k, v in r.counters_uj.items() if k != "core-0" or r.time_ns < SECOND
            },
        )
        for r in steady(SOCKET, 14)
    ]
    row = row_of(readings)
    assert row["energy_gross_j"] == pytest.approx(54 * 12)
    assert "core-0" not in json.loads(row["energy_domains"])
    assert "core-0" in row["energy_reason"]
    assert row["energy_dropped_s"] == 0


@pytest.mark.parametrize("window_ns", [0, 117_358, 99_000_000])
def test_a_window_of_a_moment_has_no_energy_rather_than_0(window_ns):
    recorder = recorded(Scripted(readings=steady(SOCKET, 14)))
    row = recorder.columns(SECOND, SECOND + window_ns, events=1)
    assert row.pop("energy_source") == "scripted"
    assert row.pop("energy_reason").endswith("s is too short for energy, below 0.1 s")
    assert set(row.values()) == {None}


def test_the_series_never_decreases_and_is_empty_after_a_zone_disappears():
    readings = steady({"package-0": 50.0, "dram-0": 4.0}, 10)
    half = [
        Reading(
            time_ns=r.time_ns,
            counters_uj={k: v for k, v in r.counters_uj.items() if k == "package-0" or i <= 50},
        )
        for i, r in enumerate(readings)
    ]
    times_ns, joules = recorded(Scripted(readings=half)).series()
    assert len(times_ns) == 101
    assert (np.diff(joules["package-0"]) >= 0).all()
    assert joules["package-0"][-1] == pytest.approx(500)
    assert np.isnan(joules["dram-0"][51:]).all() and not np.isnan(joules["dram-0"][:51]).any()
    assert recorded(NoCounters()).series()[1] == {}


def test_the_thread_polls_and_a_mark_reads_at_once():
    provider = Scripted(readings=steady({"package-0": 50.0}, 1000))
    with EnergyRecorder(provider, period_s=0.001) as recorder:
        while len(provider.left) > 9_980:
            recorder.mark()
        assert recorder.series()[1]["package-0"][10] == pytest.approx(50)
    recorder.stop()
    assert provider.closed == 1
    recorder.mark()
    assert recorder.series()[1]["package-0"][-1] == pytest.approx(50_000)


# Idle and net.


def test_the_baseline_is_watts_by_domain():
    provider = Scripted(readings=steady(SOCKET, 60))
    waited = []
    assert idle.measure(provider, 60.0, pause=waited.append) == pytest.approx(SOCKET)
    assert waited == [60.0]


def test_a_baseline_without_a_counter_is_none_and_takes_no_time():
    assert idle.measure(NoCounters(), 60.0) is None


def net(before, after, **changes):
    row = row_of(steady(SOCKET, 14)) | {"duration_s": 12.0, "events": 1_000_000} | changes
    return idle.net(trial_row(row), before=before, after=after)


def test_net_is_gross_less_the_mean_baseline_of_the_same_domains():
    found = net({**SOCKET, "package-0": 10.0, "dram-0": 2.0}, {"package-0": 10.5, "dram-0": 2.5})
    assert found.idle_w == pytest.approx(12.5)
    assert found.energy_net_j == pytest.approx(12 * (54 - 12.5))
    assert found.energy_net_j_per_1000 == pytest.approx(12 * (54 - 12.5) / 1000)
    assert found.energy_reason is None


def test_baselines_that_differ_by_more_than_ten_percent_are_doubted():
    found = net({"package-0": 10.0, "dram-0": 2.0}, {"package-0": 12.0, "dram-0": 2.0})
    assert found.energy_net_j is not None
    assert "12 W before to 14 W after" in found.energy_reason


def test_one_baseline_is_used_and_said():
    found = net({"package-0": 10.0, "dram-0": 2.0}, None, energy_reason="short: 3 s")
    assert found.idle_w == 12.0
    assert found.energy_reason == "short: 3 s; baseline only before the session"


@pytest.mark.parametrize("before", [None, {"package-0": 10.0}])
def test_no_baseline_of_all_domains_gives_no_net_with_a_reason(before):
    found = net(before, None)
    assert found.energy_net_j is None and found.idle_w is None
    assert "no idle baseline" in found.energy_reason


def test_no_gross_gives_no_net_and_keeps_its_reason():
    row = recorded(NoCounters(reason="why")).columns(0, SECOND, events=1)
    gross = trial_row(row | {"duration_s": 1.0, "events": 1})
    assert idle.net(gross, before=SOCKET, after=SOCKET) == gross
    assert (gross.energy_net_j, gross.idle_w, gross.energy_reason) == (None, None, "why")


def test_less_than_idle_is_shown_and_called_noise():
    found = net({"package-0": 60.0, "dram-0": 4.0}, {"package-0": 60.0, "dram-0": 4.0})
    assert found.energy_net_j == pytest.approx(-120)
    assert "noise" in found.energy_reason
