import numpy as np
import pytest

from lab.gate.decide import GateCriteria, Pair, hold
from lab.gate.metrics import METRICS
from lab.gate.outcome import Word
from results.stats.decision import ONE_STAGE, TWO_STAGE

CELL = "event_window/multicore/dgs/w1"


def trials(rng, *, wall=1.0, cpu=1.0, n=10, sd=0.01, **values):
    return [
        {
            "status": "ok",
            "events": 1000,
            "duration_s": wall * np.exp(rng.normal(0, sd)),
            "cpu_s": cpu * np.exp(rng.normal(0, sd)),
            **values,
        }
        for _ in range(n)
    ]


def bad(status, reason):
    return [{"status": status, "reason": reason}]


def criteria(*metrics, advisory=(), rule=TWO_STAGE):
    return GateCriteria(
        metrics=[METRICS[name] for name in metrics or ("wall",)],
        advisory=frozenset(advisory),
        rule=rule,
    )


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def nothing_again(cells):
    raise AssertionError(f"nothing is suspect, yet {cells} are measured again")


def test_equal_arms_pass_without_a_second_stage(rng):
    (line,) = hold({CELL: Pair(old=trials(rng), new=trials(rng))}, nothing_again, criteria())
    assert (line.word, line.fails, line.n) == (Word.UNCHANGED, False, 10)
    assert line.interval.low < 1 < line.interval.high


def test_a_slow_down_that_repeats_fails(rng):
    first = {CELL: Pair(old=trials(rng), new=trials(rng, wall=1.1))}

    def again(cells):
        assert tuple(cells) == (CELL,)
        return {CELL: Pair(old=trials(rng), new=trials(rng, wall=1.2))}

    (line,) = hold(first, again, criteria())
    assert line.word is Word.REGRESSION and line.fails
    assert line.ratio == pytest.approx(1.2, rel=0.03)
    assert line.first_ratio == pytest.approx(1.1, rel=0.03)


def test_a_slow_down_that_does_not_repeat_passes(rng):
    first = {CELL: Pair(old=trials(rng), new=trials(rng, wall=1.1))}
    again = {CELL: Pair(old=trials(rng), new=trials(rng))}
    (line,) = hold(first, lambda cells: again, criteria())
    assert line.word is Word.UNCONFIRMED and not line.fails


def test_a_slow_down_that_noise_hides_in_the_second_stage_casts_doubt(rng):
    first = {CELL: Pair(old=trials(rng, n=4), new=trials(rng, wall=2.0, n=4))}
    again = {CELL: Pair(old=trials(rng, n=4, sd=0.8), new=trials(rng, n=4, sd=0.8))}
    (line,) = hold(first, lambda cells: again, criteria())
    assert line.word is Word.UNSTABLE and line.doubtful and not line.fails
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

    lines = hold(first, again, criteria())
    assert seen == [("b",)]
    assert [line.fails for line in lines] == [False, True, False]


def test_a_wrong_answer_fails_whatever_the_time(rng):
    wrong = [*trials(rng, wall=0.5, n=3), *bad("wrong_output", "2 missing")]
    (line,) = hold({CELL: Pair(old=trials(rng), new=wrong)}, nothing_again, criteria())
    assert line.word is Word.BROKEN and line.fails
    assert line.note == "new: wrong_output: 2 missing"


def test_a_cell_that_is_gone_is_broken(rng):
    (line,) = hold({CELL: Pair(old=trials(rng), new=[])}, nothing_again, criteria())
    assert line.word is Word.BROKEN and "no trial" in line.note


def test_a_wrong_answer_in_the_second_stage_fails_too(rng):
    first = {CELL: Pair(old=trials(rng), new=trials(rng, wall=1.1))}
    again = {CELL: Pair(old=trials(rng), new=bad("crash", "segmentation fault"))}
    (line,) = hold(first, lambda cells: again, criteria())
    assert line.word is Word.BROKEN and line.fails


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("crash", "ok", Word.FIXED),
        ("unsupported", "unsupported", Word.UNSUPPORTED),
        ("crash", "crash", Word.NO_NUMBER),
    ],
)
def test_what_the_old_arm_did_not_have_cannot_fail(rng, old, new, word):
    sides = [trials(rng) if side == "ok" else bad(side, "because") for side in (old, new)]
    (line,) = hold({CELL: Pair(old=sides[0], new=sides[1])}, nothing_again, criteria())
    assert line.word is word and not line.fails


def test_an_advisory_metric_is_shown_and_does_not_fail(rng):
    def slower(cells):
        return {CELL: Pair(old=trials(rng), new=trials(rng, wall=1.3))}

    lines = hold(slower(()), slower, criteria("cpu", "wall", advisory=["wall"]))
    assert [(line.metric, line.word, line.fails) for line in lines] == [
        ("cpu", Word.UNCHANGED, False),
        ("wall", Word.REGRESSION, False),
    ]


def test_advisory_metrics_do_not_weaken_the_test_of_gated_ones(rng):
    # 4 processes a side: p = 1/70 for the clearest order, above 0.05 / 4 of four tests.
    def slower(cells):
        return {CELL: Pair(old=trials(rng, n=4), new=trials(rng, cpu=1.3, n=4))}

    names = ("cpu", "wall", "p50", "p99", "rss")
    lines = hold(slower(()), slower, criteria(*names, advisory=names[1:]))
    assert lines[0].word is Word.REGRESSION and lines[0].fails


def test_a_metric_that_trials_lack_has_no_number_and_says_why(rng):
    pair = Pair(old=trials(rng, cpu_s=0.0), new=trials(rng))
    (line,) = hold({CELL: pair}, nothing_again, criteria("cpu"))
    assert line.word is Word.NO_NUMBER and "CPU-seconds" in line.note


def test_one_stage_decides_at_once_where_nothing_can_be_measured_again(rng):
    pair = Pair(old=trials(rng), new=trials(rng, wall=1.1))
    (line,) = hold({CELL: pair}, None, criteria(rule=ONE_STAGE))
    assert line.word is Word.REGRESSION and line.fails


def test_the_same_values_give_the_same_lines(rng):
    first = {CELL: Pair(old=trials(rng), new=trials(rng))}
    assert hold(first, None, criteria()) == hold(first, None, criteria())
