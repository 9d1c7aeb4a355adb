import numpy as np
import pytest

from streamlab.results.compare import METRICS, IncomparableError, compare, sustainable
from streamlab.results.store import Run
from tests.results.records import run_meta, trial_row

HOST = {
    "cpu_model": "A fast one",
    "cores_usable": 2,
    "governor": None,
    "smt": None,
    "virtualised": True,
    "memory_bytes": 8 << 30,
    "kernel": "6.1",
}
CELL = "event_window/multicore/dgs/w2/b4096"


def row(**values):
    given = {
        "cell": CELL,
        "status": "ok",
        "fingerprint": "f1",
        "dataset": "d1",
        "events": 1_000_000,
    }
    return trial_row(given | values)


def rows(rates, **values):
    return [row(throughput_eps=rate, cpu_s=1e6 / rate, **values) for rate in rates]


@pytest.fixture
def a_run(tmp_path):
    """A function that makes a run as `read_run` returns it."""

    def make(name, trials, *, host=HOST, **described):
        cells = {trial.cell: {"workers": 2, "repetitions": 5, **described} for trial in trials}
        meta = {"host": host, "cells": cells, "lab_version": "0.1.0"}
        return Run(path=tmp_path / name, meta=run_meta(meta), rows=tuple(trials))

    return make


def compared(old, new, **options):
    return compare(old, new, np.random.default_rng(1), **options)


def only(comparison, metric):
    found = [ratio for ratio in comparison.ratios if ratio.metric == metric]
    assert len(found) == 1
    return found[0]


SLOW, FAST = [100, 101, 102, 103, 104, 105], [120, 121, 122, 123, 124, 125]


def test_a_clear_difference_is_called_in_the_direction_of_the_metric(a_run):
    found = compared(a_run("a", rows(SLOW)), a_run("b", rows(FAST)))
    rate, cpu = only(found, "throughput"), only(found, "cpu")
    assert rate.word == cpu.word == "better"
    assert rate.ratio == pytest.approx(122.5 / 102.5)
    assert rate.low <= rate.ratio <= rate.high
    assert cpu.ratio < 1
    back = compared(a_run("a", rows(FAST)), a_run("b", rows(SLOW)))
    assert only(back, "throughput").word == only(back, "cpu").word == "worse"


def test_equal_runs_show_no_difference(a_run):
    assert only(compared(a_run("a", rows(SLOW)), a_run("b", rows(SLOW))), "cpu").word == (
        "no difference shown"
    )


def test_a_ratio_whose_interval_includes_1_shows_no_difference(a_run):
    old = [100.0, 1000.0] * 10
    found = compared(a_run("a", rows(old)), a_run("b", rows([rate * 1.01 for rate in old])))
    rate = only(found, "throughput")
    assert rate.p < 0.05 and rate.low < 1 < rate.high
    assert rate.word == "no difference shown" and not rate.is_clear


def test_few_repetitions_are_called_too_few(a_run):
    found = only(compared(a_run("a", rows(SLOW[:3])), a_run("b", rows(FAST[:3]))), "throughput")
    assert found.word == "too few"


def test_more_tests_want_more_evidence(a_run):
    # Four a side suffice for one cell (p = 0.029), not for ten.
    def runs(count):
        both = []
        for name, rates in (("a", SLOW[:4]), ("b", FAST[:4])):
            trials = [
                trial
                for k in range(count)
                for trial in rows(rates, cell=f"c{k}", fingerprint=f"f{k}")
            ]
            both.append(a_run(name, trials))
        return compared(*both, metrics=[METRICS["throughput"]]).ratios

    assert [ratio.word for ratio in runs(1)] == ["better"]
    assert {ratio.word for ratio in runs(10)} == {"too few"}


def test_runs_of_other_hosts_are_refused_and_the_field_is_named(a_run):
    other = {**HOST, "cpu_model": "A slow one", "kernel": "6.6"}
    old, new = a_run("a", rows(SLOW)), a_run("b", rows(SLOW, fingerprint="f2"), host=other)
    with pytest.raises(IncomparableError) as told:
        compared(old, new)
    assert "host.cpu_model is 'A fast one' in A, 'A slow one' in B" in str(told.value)
    assert "kernel" not in str(told.value)
    forced = compared(old, new, force=True)
    assert [d.field for d in forced.differences] == ["host.cpu_model"]
    assert only(forced, "throughput").ratio == 1


UPDATED = {"memory_bytes": (8 << 30) - 150_000, "kernel": "6.6", "microcode": "0x2", "os": "Next"}


def test_the_same_machine_after_an_update_is_compared_with_listed_differences(a_run):
    old, new = a_run("a", rows(SLOW)), a_run("b", rows(FAST), host=HOST | UPDATED)
    found = compared(old, new)
    assert only(found, "throughput").word == "better"
    assert {field.name for field in found.notes} == {"memory_bytes", "kernel", "microcode", "os"}
    assert "host.kernel is '6.1' in A, '6.6' in B" in map(str, found.notes)


@pytest.mark.parametrize(
    ("ours", "theirs", "field"),
    [
        ({"cpu_quota_cores": 0.5}, {"cpu_quota_cores": None}, "cpu_quota_cores"),
        ({"cpu_quota_cores": 0.5}, {"cpu_quota_cores": 1.0}, "cpu_quota_cores"),
        ({"cpu_quota_cores": None}, {"cpu_quota_cores": 1.5}, "cpu_quota_cores"),
        ({}, {"cpu_quota_cores": 0.5}, "cpu_quota_cores"),
        ({"memory_limit_bytes": 1 << 30}, {"memory_limit_bytes": None}, "memory_limit_bytes"),
        ({"memory_limit_bytes": 1 << 30}, {"memory_limit_bytes": 2 << 30}, "memory_limit_bytes"),
        ({"memory_bytes": 8 << 30}, {"memory_bytes": 7 << 30}, "memory_bytes"),
        ({"cores_usable": 2}, {"cores_usable": 4}, "cores_usable"),
        ({"turbo_off": "0"}, {"turbo_off": "1"}, "turbo_off"),
        ({"governor": "powersave"}, {"governor": "performance"}, "governor"),
        ({"architecture": "x86_64"}, {"architecture": "aarch64"}, "architecture"),
    ],
)
def test_machines_of_another_speed_are_refused_and_the_field_is_named(a_run, ours, theirs, field):
    old = a_run("a", rows(SLOW), host=HOST | ours)
    new = a_run("b", rows(SLOW), host=HOST | theirs)
    with pytest.raises(IncomparableError, match=rf"host\.{field} is .* in A, .* in B"):
        compared(old, new)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"cpu_quota_cores": 0.5}, {"cpu_quota_cores": 0.5}),
        ({"cpu_quota_cores": None}, {"cpu_quota_cores": 4.0}),  # of two cores
        ({"memory_limit_bytes": None}, {"memory_limit_bytes": 8 << 30}),
        ({"architecture": "x86_64"}, {}),
        ({"loadavg": [1]}, {"loadavg": [2]}),
    ],
)
def test_limits_that_are_equal_in_effect_do_not_keep_runs_apart(a_run, ours, theirs):
    old = a_run("a", rows(SLOW), host=HOST | ours)
    assert compared(old, a_run("b", rows(SLOW), host=HOST | theirs)).ratios


def test_cells_that_match_are_compared_and_the_others_are_listed(a_run):
    def trials(changed):
        own = rows(SLOW, cell="other", fingerprint=changed, dataset=changed)
        return [*rows(SLOW), *own, *rows(SLOW, cell=f"only {changed}", fingerprint=changed + "o")]

    found = compared(a_run("a", trials("d1")), a_run("b", trials("d2")))
    assert {ratio.cell for ratio in found.ratios} == {CELL}
    assert [str(item) for item in found.unlike] == ["other: dataset is 'd1' in A, 'd2' in B"]
    assert (found.only_old, found.only_new) == (("only d1",), ("only d2",))
    assert found.differences == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "d2"}, "dataset is 'd1' in A, 'd2' in B"),
        ({"options": {"pin": True}}, "options.pin is None in A, True in B"),
    ],
)
def test_cells_that_differ_are_refused_and_the_field_is_named(a_run, change, message):
    described = {k: v for k, v in change.items() if k == "options"}
    of_row = {k: v for k, v in change.items() if k == "dataset"}
    old = a_run("a", rows(SLOW), options={})
    new = a_run("b", rows(SLOW, fingerprint="f2", **of_row), **{"options": {}, **described})
    with pytest.raises(IncomparableError) as error:
        compared(old, new)
    assert f"{message} ({CELL})" in str(error.value)


def test_the_number_of_repetitions_is_no_difference(a_run):
    old, new = a_run("a", rows(SLOW), repetitions=6), a_run("b", rows(SLOW), repetitions=9)
    assert compared(old, new).differences == ()


def test_fingerprints_that_differ_for_no_stored_reason_are_refused_too(a_run):
    with pytest.raises(IncomparableError, match="lab_version"):
        compared(a_run("a", rows(SLOW)), a_run("b", rows(SLOW, fingerprint="f2")))


def test_a_cell_that_was_renamed_is_found_by_its_fingerprint(a_run):
    found = compared(a_run("a", rows(SLOW)), a_run("b", rows(FAST, cell="renamed")))
    assert only(found, "throughput").cell == CELL
    assert found.only_new == ()


def test_runs_without_a_common_cell_are_refused(a_run):
    with pytest.raises(IncomparableError, match="no cell in common"):
        compared(a_run("a", rows(SLOW)), a_run("b", rows(FAST, cell="x", fingerprint="f2")))


def test_a_cell_whose_answer_is_not_verified_has_no_ratio(a_run):
    wrong = [*rows(FAST[:5]), row(status="wrong_output")]
    found = compared(a_run("a", rows(SLOW)), a_run("b", wrong))
    assert found.ratios == ()
    assert [(a.word, a.old, a.new) for a in found.answers] == [
        ("broken", "verified", "wrong_output")
    ]


def test_rate_of_an_offered_load_is_no_throughput(a_run):
    both = [a_run(name, rows(SLOW, load="{}", latency_p99_ns=1000)) for name in "ab"]
    assert {ratio.metric for ratio in compared(*both).ratios} == {"cpu", "p99"}


def search(passes, fails, confirmed):
    probes = [("bisect", rate, True) for rate in passes] + [
        ("bisect", rate, False) for rate in fails
    ]
    probes += [("confirm", rate, True) for rate in confirmed]
    return [
        row(purpose=purpose, probe=number, vote=vote, offered_eps=float(rate), sustained=holds)
        for number, (purpose, rate, holds) in enumerate(probes, 1)
        for vote in (1, 2)
    ]


def test_sustainable_rate_is_the_confirmed_one_with_the_next_failure_above(a_run):
    assert sustainable(search([100, 110], [130, 112], [110])) == (110, 112)
    assert sustainable(search([100], [130], [])) is None


@pytest.mark.parametrize(
    ("new", "word"),
    [((200, 204), "better"), ((50, 51), "worse"), ((101, 103), "no difference shown")],
)
def test_searches_differ_when_their_brackets_do_not_overlap(a_run, new, word):
    old = a_run("a", search([100], [102], [100]))
    found = only(compared(old, a_run("b", search([new[0]], [new[1]], [new[0]]))), "r_pass")
    assert (found.word, found.p) == (word, None)
    assert found.low == pytest.approx(new[0] / 102)
    assert found.high == pytest.approx(new[1] / 100)
