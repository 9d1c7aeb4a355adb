"""The page states where more workers are slower, with reasons that the stored numbers support."""

import json

import pytest

from streamlab.reports.scaling import slower
from streamlab.reports.summary import summarise
from tests.results.records import trial_row


@pytest.fixture
def found(trial):
    def find(more, fewer=None):
        """Three trials each of one worker (200 M/s) and two (half of it), the latter changed."""
        rows = []
        for n in (1, 2, 3):
            rows.append(trial(workers=1, eps=2e8 + n, repetition=n, **(fewer or {})))
            rows.append(trial(workers=2, eps=1e8 + n, repetition=n, **more))
        whole = [trial_row(row) for row in rows]
        return slower(summarise(whole), whole)

    return find


def because(found):
    (one,) = found
    return " / ".join(one.reasons)


BUSY = '["load average 2.40 on 2 cores, and 1.3 cores busy beside the lab"]'


def test_no_reason_is_stated_without_a_number_that_explains_it(found):
    (one,) = found({"cpu_s": 0.194}, {"cpu_s": 0.194})
    assert one.ratio == pytest.approx(0.5)
    assert one.is_apart and not one.doubt
    assert one.reasons == ("its workers waited: 0.485 cores were in use by 2 workers",)
    (one,) = found({"cpu_s": None})
    assert one.reasons == ()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"warnings": BUSY, "loadavg_before": 2.4}, "other programs were on the cores around 3 of"),
        ({"oversubscribed": True}, "more workers than cores"),
        ({"core_to_core_before_ns": 187.0}, "a cache line took 187 ns"),
        ({"counters": '{"gatherings": 2}'}, "gathered all work at one worker 2 times"),
        ({"counters": '{"workers_used": 1}'}, "its plan had work for 1 of 2 workers"),
        ({"counters": '{"involuntary_switches": 812}'}, "lost their core to others 812 times"),
        ({"system_s": 0.4, "cpu_s": 0.8}, "50 % of its CPU time was the kernel's"),
        ({"cpu_s": 0.8}, "an event cost 4.12 times the CPU time of 1 worker"),
        ({"events": 50_000}, "the timed part took 500 µs"),
    ],
)
def test_each_stored_number_gives_its_reason_and_no_other(found, row, message):
    calm = {"cpu_s": None} if "cpu_s" not in row else {}
    assert message in because(found(calm | row))
    assert all(message not in text for one in found(calm) for text in one.reasons)


@pytest.mark.parametrize(("took_ns", "message"), [(300, True), (20, False)])
def test_work_between_synchronizations_is_compared_with_the_cost_of_one(found, took_ns, message):
    # 40 M events, 400,000 synchronizations: 100 events, 0.485 us of CPU time with one worker.
    counters = json.dumps({"synchronizations": 400_000, "sync_median_ns": took_ns})
    reason = because(found({"counters": counters}))
    assert ("too little work a synchronization: 100 events, 485 ns" in reason) == message


def test_near_cores_few_switches_and_a_quiet_machine_are_no_reason(found):
    quiet = {
        "core_to_core_before_ns": 35.0,
        "core_to_core_after_ns": 48.0,
        "counters": '{"involuntary_switches": 3, "gatherings": 0}',
        "warnings": '["turbo is on: speed varies with heat"]',
        "loadavg_before": 1.9,
        "cpu_s": None,
    }
    (one,) = found(quiet, {"counters": '{"involuntary_switches": 3}'})
    assert one.reasons == ()


def test_only_like_cells_are_compared_and_chance_is_called_chance(trial):
    def of(*rows):
        whole = [trial_row(row) for row in rows]
        return slower(summarise(whole), whole)

    assert of(trial(workers=1), trial(workers=2, batch=1, eps=1e6)) == []
    assert of(trial(workers=1), trial(workers=2, eps=1.97e8)) == []
    assert of(trial(workers=1), trial(workers=2, eps=1e6, status="crash")) == []
    (one,) = of(trial(workers=1), trial(workers=2, eps=1e8))
    assert one.doubt == "1 process, so it may be chance"
    pairs = [trial(workers=w, eps=2e8 / w + n, repetition=n) for w in (1, 2) for n in (1, 2)]
    (one,) = of(*pairs)
    assert one.is_apart and one.doubt == "2 processes, so it may be chance"
    values = {1: (1e8, 2e8, 3e8), 2: (0.9e8, 1.5e8, 2e8)}
    spread = [
        trial(workers=workers, repetition=n, eps=eps)
        for workers, rates in values.items()
        for n, eps in enumerate(rates, 1)
    ]
    (one,) = of(*spread)
    assert one.doubt == "the ranges overlap, so it may be chance"


def test_the_page_says_where_and_why(shown, trial):
    rows = [trial(workers=1), trial(workers=2, eps=1e8, core_to_core_before_ns=240.0)]
    page, words = shown(rows)
    assert "In 1 cell more workers are slower than fewer" in words
    assert "event_window: multicore, blocks of 4,096, 2 workers : 50 % of the rate of 1" in words
    assert "a cache line took 240 ns" in words
    assert 'id="slower"' in page
    page, _ = shown([trial(workers=1), trial(workers=2, eps=3e8)], name="faster")
    assert 'id="slower"' not in page
