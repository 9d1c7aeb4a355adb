"""The verdict of a gate as text, Markdown and JUnit."""

from xml.etree import ElementTree

import numpy as np
import pytest

from streamlab.lab.gate.metrics import METRICS, Pair, TrialResult
from streamlab.lab.gate.outcome import GateReport, Headline, Line, Verdict
from streamlab.lab.gate.render import as_markdown, as_text, write_report
from streamlab.lab.gate.report_notes import describe_outputs, doubt_notes, outputs_needed
from streamlab.results.stats.intervals import Interval

LINES = [
    Line(
        cell="a/b",
        metric="wall",
        word=Verdict.REGRESSION,
        n=10,
        ratio=1.123,
        interval=Interval(low=1.1, high=1.15, coverage=0.95),
        first_ratio=1.2,
        p=0.0001,
        floor=0.02,
        noise=0.013,
    ),
    Line(cell="a/b", metric="cpu", word=Verdict.UNCHANGED, n=10, ratio=1.001),
    Line(cell="c", metric="", word=Verdict.BROKEN, note="new: crash: <signal> & more"),
    Line(cell="d", metric="wall", word=Verdict.REGRESSION, advisory=True, ratio=1.5),
    Line(cell="e", metric="", word=Verdict.NO_NUMBER, note="not verified in either arm"),
]
REPORT = GateReport(old="main", new="branch", rule="two stages", lines=LINES, notes=["logs: here"])


def test_the_text_has_the_numbers_and_the_failures():
    text = as_text(REPORT)
    assert text.startswith("Gate FAILED: 2 of 5")
    for part in ("1.123", "1.100 - 1.150", "1.200", "2.0 %", "1.3 %", "logs: here", "main"):
        assert part in text
    assert "REGRESSION" in text and "regression (advisory)" in text
    assert "new: crash: <signal> & more" in text


def test_a_doubt_about_statuses_has_an_advice_of_its_own():
    doubtful = Line(cell="a", metric="status", word=Verdict.UNSTABLE, note="old: 4 ok; ...")
    report = GateReport(old="a", new="b", rule="r", lines=[*LINES[1:2], doubtful])
    (words,) = doubt_notes(report, one_stage=False)
    assert "have a worse status" in words and "give more --repetitions" in words


def test_a_metric_that_does_not_repeat_is_shown_and_alone_compares_nothing():
    line = Line(cell="a", metric="p99", word=Verdict.NOT_GATED, n=10, ratio=1.4, note="why")
    passed = GateReport(old="a", new="b", rule="r", lines=[*LINES[1:2], line])
    assert (passed.headline, passed.tests) == (Headline.PASSED, 1)
    assert "- a p99: why" in as_text(passed) and "| not gated |" in as_text(passed)
    alone = GateReport(old="a", new="b", rule="r", lines=[line])
    assert alone.headline is Headline.INCONCLUSIVE


def test_every_verdict_that_is_shown_is_explained():
    text = as_markdown(REPORT)
    assert "*broken*: verified in the old arm" in text
    assert "*improved*" not in text


def test_columns_without_any_value_are_left_out():
    text = as_text(GateReport(old="a", new="b", rule="r", lines=LINES[1:2]))
    assert "| new / old |" in text and "A/A" not in text and "| floor" not in text


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        (
            [
                Verdict.UNCHANGED,
                Verdict.IMPROVED,
                Verdict.ACCEPTED,
                Verdict.UNCONFIRMED,
                Verdict.FIXED,
            ],
            "passed",
        ),
        ([Verdict.UNCHANGED, Verdict.ADDED, Verdict.UNSUPPORTED], "passed"),
        ([Verdict.UNCHANGED, Verdict.UNSTABLE], "inconclusive"),
        ([Verdict.UNCHANGED, Verdict.TOO_FEW], "inconclusive"),
        ([Verdict.UNCHANGED, Verdict.NO_NUMBER], "inconclusive"),
        ([Verdict.ADDED, Verdict.UNSUPPORTED], "inconclusive"),
        ([], "inconclusive"),
        ([Verdict.UNSTABLE, Verdict.REGRESSION], "failed"),
        ([Verdict.BROKEN, Verdict.TOO_FEW], "failed"),
    ],
)
def test_a_failure_counts_more_than_a_doubt_and_a_doubt_more_than_the_rest(words, headline):
    lines = [Line(cell="a", metric="wall", word=word) for word in words]
    assert GateReport(old="a", new="b", rule="r", lines=lines).headline is Headline(headline)


def test_a_gate_that_compared_nothing_says_so_with_a_remedy():
    report = GateReport(old="a", new="b", rule="r", lines=[])
    (doubt,) = doubt_notes(report, one_stage=False)
    assert "nothing was compared" in doubt and "select cells" in doubt
    assert as_text(report).startswith("Gate INCONCLUSIVE: nothing was compared")


def test_junit_counts_failures_and_skips_and_escapes_words(tmp_path):
    path = tmp_path / "deep" / "gate.xml"
    write_report(REPORT, "junit", path)
    suite = ElementTree.parse(path).getroot()
    assert suite.tag == "testsuite"
    assert {k: suite.get(k) for k in ("tests", "failures", "skipped", "errors")} == {
        "tests": "5",
        "failures": "2",
        "skipped": "2",
        "errors": "0",
    }
    cases = {(c.get("classname"), c.get("name")): c for c in suite.findall("testcase")}
    assert "1.123" in cases["a/b", "wall"].find("failure").get("message")
    assert cases["c", "correctness"].find("failure").text == "new: crash: <signal> & more"
    assert cases["d", "wall"].find("skipped") is not None
    assert cases["a/b", "cpu"].find("failure") is None


def test_a_summary_is_appended_to_an_existing_one(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("# Job\n")
    write_report(REPORT, "markdown", path)
    text = path.read_text()
    assert text.startswith("# Job\n### Gate FAILED")
    assert "| a/b " in text


@pytest.mark.parametrize(("quantile", "needed"), [(0.5, 200), (0.99, 10_000), (0.999, 100_000)])
def test_with_as_many_outputs_chance_moves_the_tail_by_a_tenth(quantile, needed):
    assert outputs_needed(quantile) == needed
    rng = np.random.default_rng(1)
    beyond = rng.binomial(needed, 1 - quantile, 4000)
    # The factor is that of a share near a half.
    expected = 0.1 * np.sqrt(quantile)
    assert beyond.std() / beyond.mean() == pytest.approx(expected, rel=0.05)


def tail_notes(*, outputs, offered=1000.0):
    trials = [TrialResult(latency_count=n, offered_eps=offered) for n in (outputs, outputs + 1)]
    pair = Pair(old=trials[:1], new=trials[1:])
    return list(describe_outputs({"a/cell": pair}, [METRICS["wall"], METRICS["p99"]]))


def test_the_outputs_that_a_quantile_needs_are_stated_with_the_remedy():
    (words,) = tail_notes(outputs=2500)
    assert "a/cell: p99 needs 10,000 outputs" in words and "a trial has 2,500" in words
    assert words.endswith("increase window_s or the rate 4 times")
    (words,) = tail_notes(outputs=10_000)
    assert words.endswith("a trial has 10,000")
    assert tail_notes(outputs=2500, offered=None) == []
