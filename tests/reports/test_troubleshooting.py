"""Every status and every kind of warning has a cause and a remedy."""

import ast
import re
from pathlib import Path

from streamlab.lab.cli.table import print_results
from streamlab.lab.gate.outcome import Headline, Verdict
from streamlab.lab.judge.verdict import NOT_DETERMINISTIC
from streamlab.lab.judge.verify import FIXED_ORDER, ROUNDING
from streamlab.reports.troubleshooting import (
    ADVICE,
    NOT_RUN,
    SIGNS,
    advice_on,
    advice_on_text,
)
from streamlab.results import schema
from tests.results.records import trial_row

ROOT = Path(__file__).parents[2]
SOURCES = ("lab/measure", "lab/runner", "lab/judge", "lab/trial", "results", "reports/page")
"""Modules that write warnings and reasons of trials and runs."""
VARIABLES = {
    "warnings",
    "lost",
    "failures",
    "engine_failures",
    "unknown",
    "problems",
    "near",
    "quick",
}
FUNCTIONS = (
    "_warnings",
    "_failures",
    "contradictions",
    "await_near",
    "read_phases",
    "early_outputs",
)
FUNCTIONS += ("rates", "_nothing_compared")
EXPLAINED_BY_STATUS = (
    "drain 1 s, above",
    "the engine keeps no progress",
    "no steady throughput",
    "backlog grows by",
    "latency grows by",
    "objective 1 <= 1",
    "1: the engine does not stamp its outputs",
    "1: 1 samples are too few to say",
    "1: it is 1 ms",
    "the engine does not report what its source sent",
    "window 1 s, below 1 s",
    "warm-up 1 s, below 1 s",
    "steadiness not judged",
)
"""Beginnings of reasons of `unsteady`, `unsustained` and `invalid` that repeat the status' cause."""


def document() -> str:
    return (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")


def test_every_reason_and_warning_of_the_document_has_a_sign_and_no_status_has():
    statuses = {each.title for each in ADVICE if not each.sign}
    assert statuses == {*schema.STATUSES, NOT_RUN} - {schema.OK}
    assert {each.title for each in ADVICE} - statuses == SIGNS.keys()


def test_every_word_of_a_gate_without_a_verdict_stands_in_the_document():
    gates = document().split("\n## Gates\n")[1].split("\n## ")[0]
    doubtful = (Verdict.UNSTABLE, Verdict.TOO_FEW, Verdict.NOT_GATED, Verdict.NO_NUMBER)
    assert all(f"| `{word}` |" in gates for word in (*doubtful, Headline.INCONCLUSIVE))


def test_anchors_differ():
    assert len({each.anchor for each in ADVICE}) == len(ADVICE)


def sample(node: ast.expr) -> str:
    """Return a text for a value in an f-string."""
    is_share = isinstance(node, ast.FormattedValue) and "%" in ast.unparse(node)
    return "1%" if is_share else "1"


def text_of(node: ast.expr) -> str | None:
    """Return a string or f-string with 1 for each value; None for another expression."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else sample(part)
            for part in node.values
        )
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text else None


def texts_in(node: ast.AST) -> list[str]:
    """Return the texts of an expression: itself, the elements of a list, both sides of a choice."""
    if isinstance(node, ast.List | ast.Tuple):
        return [text for part in node.elts for text in texts_in(part)]
    if isinstance(node, ast.IfExp):
        return [*texts_in(node.body), *texts_in(node.orelse)]
    text = text_of(node) if isinstance(node, ast.expr) else None
    return [] if text is None or " " not in text else [text]


def warnings_in(tree: ast.AST) -> list[str]:
    """Return the texts that become warnings or reasons, by the names of functions and variables."""
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.endswith(FUNCTIONS):
            for part in ast.walk(node):
                if isinstance(part, ast.Return | ast.Yield) and part.value is not None:
                    texts += texts_in(part.value)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "insert")
            and getattr(node.func.value, "id", None) in VARIABLES
        ):
            texts += [text for argument in node.args for text in texts_in(argument)]
        elif isinstance(node, ast.Assign) and any(
            getattr(target, "id", None)
            in {"moved_warning", "warning", "text", "near", "unknown", "limits"}
            for target in node.targets
        ):
            texts += texts_in(node.value)
    return texts


def written() -> dict[str, str]:
    """Return the texts of all warnings and reasons in the sources, with their files."""
    return dict.fromkeys((NOT_DETERMINISTIC, ROUNDING, FIXED_ORDER), "lab/judge") | {
        text: str(path.relative_to(ROOT))
        for folder in SOURCES
        for path in (ROOT / "reports" / "run_warnings.py", *sorted((ROOT / folder).rglob("*.py")))
        if not {"energy", "history.py", "statement.py"} & {*path.parts}
        for text in warnings_in(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_every_warning_in_the_sources_has_an_entry():
    texts = written()
    assert len(texts) > 35
    unknown = {
        text: path
        for text, path in texts.items()
        if advice_on_text(text) is None and not text.startswith(EXPLAINED_BY_STATUS)
    }
    assert unknown == {}


def test_every_entry_finds_a_text_of_the_sources():
    kinds = {advice.title for text in written() if (advice := advice_on_text(text))}
    elsewhere = {"Input too short", "Code changed", "Late rows"}  # of exceptions and the import
    assert SIGNS.keys() - kinds == elsewhere


def test_a_run_has_the_advice_on_its_problems(trial):
    rows = [
        trial(status=schema.INVALID, reason="generator: send lag p99 8 ms, above 1 ms"),
        trial(repetition=2, warnings='["load average 3.10 on 2 cores"]'),
    ]
    rows = [trial_row(row) for row in rows]
    unequal = "a/b: its 3 trials took 1 to 2 s"
    titles = [each.title for each in advice_on(rows, [unequal], missing=True)]
    assert titles == ["invalid", "not run", "Generator too slow", "Unequal trials", "Load average"]
    assert advice_on([trial_row(trial())], []) == ()


def test_the_terminal_names_the_entries_once(capsys, trial):
    warning = '["load average 3.10 on 2 cores"]'
    print_results([trial_row(trial(repetition=n, warnings=warning)) for n in (1, 2)], {})
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "remedies" in line)
    assert line.endswith("docs/troubleshooting.md: #load-average")


def test_the_page_links_badges_and_warnings_to_its_entries(page_of_run, trial):
    page = page_of_run(
        [
            trial(status=schema.TIMEOUT, reason="stopped after 5 s"),
            trial("reference", warnings='["load average 3.10 on 2 cores"]'),
        ],
        meta={"cells": {"event_window/fake/correct/w1": {}}},
    ).read_text()
    assert '<a href="#help-timeout">timeout</a>' in page
    assert 'href="#help-load-average">remedy</a>' in page
    ids = set(re.findall(r'id="(help-[^"]+)"', page))
    assert ids == {"help-timeout", "help-not-run", "help-load-average"}
    assert ids == set(re.findall(r'href="#(help-[^"]+)"', page))
    assert (
        "Use fewer events, or raise <code>timeout_s</code> (<code>--timeout</code> without a matrix)."
        in page
    )
