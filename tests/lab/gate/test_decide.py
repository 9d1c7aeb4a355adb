"""The decision of a gate on made-up trials: two stages, faults, advisory metrics."""

import numpy as np
import pytest
from msgspec.structs import replace

from streamlab.lab.gate.decision import GateCriteria, decide_gate
from streamlab.lab.gate.metrics import METRICS, Pair, TrialResult
from streamlab.lab.gate.outcome import Verdict
from streamlab.results.stats.decision import ONE_STAGE, TWO_STAGE

CELL = "event_window/multicore/dgs/w1"


def trials(rng, *, wall=1.0, cpu=1.0, n=10, sd=0.01, **values):
    return [
        TrialResult(
            **{
                "status": "ok",
                "events": 1000,
                "duration_s": wall * np.exp(rng.normal(0, sd)),
                "cpu_s": cpu * np.exp(rng.normal(0, sd)),
                **values,
            }
        )
        for _ in range(n)
    ]


def bad(status, reason):
    return [TrialResult(status=status, reason=reason)]


def criteria(*metrics, advisory=(), if_repeatable=(), rule=TWO_STAGE):
    return GateCriteria(
        metrics=[METRICS[name] for name in (*(metrics or ("wall",)), *if_repeatable)],
        advisory=frozenset(advisory),
        if_repeatable=frozenset(if_repeatable),
        rule=rule,
    )


def decide(*stages, metrics=(), **more):
    """Decide on one cell whose stages have these trials of both arms; no further stage is measured."""
    first, *later = (Pair(old=old, new=new) for old, new in stages)

    def again(cells):
        assert tuple(cells) == (CELL,) and later, f"{cells} are measured again"
        return {CELL: later.pop(0)}

    return decide_gate({CELL: first}, again, criteria(*metrics, **more))


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_equal_arms_pass_without_a_second_stage(rng):
    (line,) = decide((trials(rng), trials(rng)))
    assert (line.word, line.fails, line.n) == (Verdict.UNCHANGED, False, 10)
    assert line.interval.low < 1 < line.interval.high


def test_a_slow_down_that_repeats_fails(rng):
    first, again = ((trials(rng), trials(rng, wall=wall)) for wall in (1.1, 1.2))
    (line,) = decide(first, again)
    assert line.word is Verdict.REGRESSION and line.fails
    assert line.ratio == pytest.approx(1.2, rel=0.03)
    assert line.first_ratio == pytest.approx(1.1, rel=0.03)


def test_a_slow_down_that_does_not_repeat_passes(rng):
    (line,) = decide((trials(rng), trials(rng, wall=1.1)), (trials(rng), trials(rng)))
    assert line.word is Verdict.UNCONFIRMED and not line.fails


def test_a_slow_down_that_noise_hides_in_the_second_stage_casts_doubt(rng):
    first = trials(rng, n=4), trials(rng, wall=2.0, n=4)
    (line,) = decide(first, (trials(rng, n=4, sd=0.8), trials(rng, n=4, sd=0.8)))
    assert line.word is Verdict.UNSTABLE and line.doubtful and not line.fails
    assert line.first_ratio == pytest.approx(2.0, rel=0.05)


def test_only_suspected_cells_are_measured_again(rng):
    first = {
        name: Pair(old=trials(rng), new=trials(rng, wall=1.0 + 0.2 * (name == "b")))
        for name in "abc"
    }
    seen = []

    def again(cells):
        seen.append(tuple(cells))
        return {name: Pair(old=trials(rng), new=trials(rng, wall=1.2)) for name in cells}

    lines = decide_gate(first, again, criteria())
    assert seen == [("b",)]
    assert [line.fails for line in lines] == [False, True, False]


def test_a_wrong_answer_fails_whatever_the_time(rng):
    wrong = [*trials(rng, wall=0.5, n=3), *bad("wrong_output", "2 missing")]
    (line,) = decide((trials(rng), wrong))
    assert line.word is Verdict.BROKEN and line.fails
    assert line.note == "new: wrong_output: 2 missing"


def test_a_missing_cell_is_broken(rng):
    (line,) = decide((trials(rng), []))
    assert line.word is Verdict.BROKEN and "no trial" in line.note


def test_a_wrong_answer_in_the_second_stage_fails_too(rng):
    first = trials(rng), trials(rng, wall=1.1)
    (line,) = decide(first, (trials(rng), bad("crash", "segmentation fault")))
    assert line.word is Verdict.BROKEN and line.fails


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("crash", "ok", Verdict.FIXED),
        ("unsupported", "unsupported", Verdict.UNSUPPORTED),
        ("crash", "crash", Verdict.NO_NUMBER),
    ],
)
def test_cells_and_metrics_that_the_old_arm_lacks_cannot_fail(rng, old, new, word):
    (line,) = decide([trials(rng) if side == "ok" else bad(side, "why") for side in (old, new)])
    assert line.word is word and not line.fails


def test_an_advisory_metric_is_shown_and_does_not_fail(rng):
    stages = [(trials(rng), trials(rng, wall=1.3)) for _ in range(2)]
    lines = decide(*stages, metrics=("cpu", "wall"), advisory=["wall"])
    assert [(line.metric, line.word, line.fails) for line in lines] == [
        ("cpu", Verdict.UNCHANGED, False),
        ("wall", Verdict.REGRESSION, False),
    ]


@pytest.mark.parametrize("role", ["advisory", "if_repeatable"])
def test_other_metrics_do_not_weaken_the_test_of_gated_ones(rng, role):
    # 4 processes a side: p = 1/70 for the clearest order, above 0.05 / 4 of four tests.
    rows = {"peak_rss_bytes": 1.0, "latency_p99_ns": 5.0, "latency_p50_ns": 2.0}
    stages = [(trials(rng, n=4, **rows), trials(rng, cpu=1.3, n=4, **rows)) for _ in range(2)]
    more = ("p50", "p99", "rss")
    names = ("cpu", "wall", *(more if role == "advisory" else ()))
    lines = decide(*stages, metrics=names, **{role: more})
    assert lines[0].word is Verdict.REGRESSION and lines[0].fails


def test_a_metric_that_trials_lack_has_no_number_and_says_why(rng):
    (line,) = decide((trials(rng, cpu_s=0.0), trials(rng)), metrics=("cpu",))
    assert line.word is Verdict.NO_NUMBER and "CPU-seconds" in line.note


def test_one_stage_decides_at_once_where_nothing_can_be_measured_again(rng):
    pair = Pair(old=trials(rng), new=trials(rng, wall=1.1))
    (line,) = decide_gate({CELL: pair}, None, criteria(rule=ONE_STAGE))
    assert line.word is Verdict.REGRESSION and line.fails


def test_the_same_values_give_the_same_lines(rng):
    first = {CELL: Pair(old=trials(rng), new=trials(rng))}
    assert decide_gate(first, None, criteria()) == decide_gate(first, None, criteria())


def with_status(rows, status, count):
    """The rows, of which the last ones have another status."""
    kept = len(rows) - count
    return [replace(row, status="ok" if k < kept else status) for k, row in enumerate(rows)]


@pytest.mark.parametrize("status", ["unsteady", "unsustained", "invalid", "timeout", "oom"])
def test_ten_trials_with_a_worse_status_fail_at_equal_wall_time(rng, status):
    first, again = ((trials(rng), with_status(trials(rng), status, 10)) for _ in range(2))
    lines = decide(first, again)
    assert lines[0].fails and status in lines[0].note
    assert [line.metric for line in lines[1:]] in ([], ["wall"])
    assert not any(line.fails for line in decide(first[::-1], again))


def test_a_catch_up_that_is_no_longer_steady_fails(rng):
    first, again = (
        (trials(rng, steady="steady"), trials(rng, steady="unsteady")) for _ in range(2)
    )
    status, wall = decide(first, again)
    assert (status.metric, status.word) == ("status", Verdict.REGRESSION)
    assert "old: 10 ok; new: 10 unsteady" in status.note
    assert wall.word is Verdict.UNCHANGED


@pytest.mark.parametrize("status", ["unsteady", "unsustained"])
def test_one_unlucky_trial_is_listed_and_does_not_fail(rng, status):
    listed, wall = decide((trials(rng), with_status(trials(rng), status, 1)))
    assert listed.word is Verdict.UNCHANGED and not listed.doubtful
    assert f"new: 9 ok, 1 {status}" in listed.note
    assert wall.word is Verdict.UNCHANGED


def test_one_trial_without_a_number_makes_a_gate_inconclusive(rng):
    status, wall = decide((trials(rng), with_status(trials(rng), "timeout", 1)))
    assert (status.word, wall.word) == (Verdict.UNCHANGED, Verdict.NO_NUMBER)
    assert wall.doubtful and "timeout" in wall.note


def test_a_worse_status_is_confirmed_by_new_trials(rng):
    first = trials(rng), with_status(trials(rng), "unsustained", 5)
    for count, word in ((0, Verdict.UNCONFIRMED), (4, Verdict.REGRESSION)):
        again = trials(rng), with_status(trials(rng), "unsustained", count)
        status, _ = decide(first, again)
        assert status.word is word
        assert "first stage" in status.note
    again = trials(rng, n=4), with_status(trials(rng, n=4), "unsustained", 2)
    assert decide(first, again)[0].word is Verdict.UNSTABLE


def test_arms_that_are_both_unsustained_compare_their_times(rng):
    (line,) = decide([with_status(trials(rng), "unsustained", 10) for _ in range(2)])
    assert (line.metric, line.word) == ("wall", Verdict.UNCHANGED)


def memory(rng, *, sd, larger=0.0):
    return [
        replace(row, peak_rss_bytes=1e8 * (1 + larger) * np.exp(rng.normal(0, sd)))
        for row in trials(rng)
    ]


def test_memory_that_repeats_is_gated_without_being_named(rng):
    stages = [(memory(rng, sd=0.005), memory(rng, sd=0.005, larger=0.06)) for _ in range(2)]
    wall, rss = decide(*stages, if_repeatable=["rss", "p99"])
    assert (wall.word, rss.word) == (Verdict.UNCHANGED, Verdict.REGRESSION)
    assert rss.fails


def test_memory_that_does_not_repeat_is_named_and_casts_no_doubt(rng):
    arms = memory(rng, sd=0.2), memory(rng, sd=0.2)
    _, rss = decide(arms, if_repeatable=["rss", "p99"])
    assert rss.word is Verdict.NOT_GATED and not rss.doubtful and not rss.fails
    assert f"not gated: does not repeat: A/A differences reach {rss.noise:.1%}" in rss.note
    _, rss = decide(arms, metrics=("wall", "rss"))
    assert rss.word is Verdict.UNSTABLE and rss.doubtful


def under_load(rng, shared, slower=0.0):
    return [
        replace(row, latency_p99_ns=1e6 * (1 + slower) * noise * np.exp(rng.normal(0, 0.01)))
        for row, noise in zip(trials(rng), shared, strict=True)
    ]


def test_latency_under_like_loads_is_compared_in_pairs(rng):
    """Both trials of a pair meet the same noise of the machine, which hides 20 % otherwise."""

    def pair(*, same_load):
        shared = np.exp(rng.normal(0, 0.5, 10))
        old, new = under_load(rng, shared), under_load(rng, shared, slower=0.2)
        return {CELL: Pair(old=old, new=new, same_load=same_load)}

    only = criteria("p99")
    (line,) = decide_gate(pair(same_load=True), lambda cells: pair(same_load=True), only)
    assert line.word is Verdict.REGRESSION and line.paired
    assert line.ratio == pytest.approx(1.2, rel=0.02)
    assert line.interval.low > 1.15
    (line,) = decide_gate(pair(same_load=False), None, only)
    assert line.word is Verdict.UNSTABLE and not line.paired
