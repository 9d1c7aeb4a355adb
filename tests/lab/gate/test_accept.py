"""`lab gate --accept`: a listed regression passes until its date, up to its ratio."""

from datetime import date

import pytest

from streamlab.lab.cli import EXIT_USER_ERROR, call
from streamlab.lab.cli.commands import gate as commands
from streamlab.lab.errors import MatrixError
from streamlab.lab.gate.accepted_list import apply_accepted, read_accepted
from streamlab.lab.gate.outcome import GateReport, Line, Verdict

TODAY = date(2026, 6, 1)


def report(word=Verdict.REGRESSION, ratio=1.08, cell="event_window/multicore/dgs/w2"):
    line = Line(cell=cell, metric="wall", word=word, ratio=ratio)
    return GateReport(old="a", new="b", rule="r", lines=[line])


@pytest.fixture
def accepted(tmp_path):
    def read(text):
        path = tmp_path / "accepted.toml"
        path.write_text(text)
        return read_accepted(path)

    return read


MATRIX = """
[run]
[[workload]]
name = "event_window"
[[engine]]
name = "multicore"
workers = [1, 2]
"""

ENTRY = """
[[accept]]
cell = "event_window/*"
metric = "wall"
until_ratio = 1.10
reason = "ordered output costs a merge"
"""


def test_a_listed_regression_is_accepted_and_its_use_is_reported(accepted):
    found = apply_accepted(report(), accepted(ENTRY), TODAY)
    assert found.lines[0].word is Verdict.ACCEPTED and not found.failed
    assert "accepted up to 1.1" in found.notes[0]
    assert "ordered output costs a merge" in found.notes[0]


def test_a_regression_beyond_the_ratio_fails(accepted):
    found = apply_accepted(report(ratio=1.12), accepted(ENTRY), TODAY)
    assert found.failed and "worse than accepted" in found.notes[0]


def test_an_expired_entry_does_not_count(accepted):
    entry = ENTRY + "expires = 2026-05-31\n"
    found = apply_accepted(report(), accepted(entry), TODAY)
    assert found.failed and "expired on 2026-05-31" in found.notes[0]
    assert not apply_accepted(report(), accepted(entry), date(2026, 5, 31)).failed


def test_a_wrong_answer_cannot_be_accepted(accepted):
    assert apply_accepted(report(word=Verdict.BROKEN), accepted(ENTRY), TODAY).failed


def test_an_entry_that_is_not_needed_changes_nothing(accepted):
    found = apply_accepted(report(word=Verdict.UNCHANGED, ratio=1.0), accepted(ENTRY), TODAY)
    assert found.lines[0].word is Verdict.UNCHANGED and found.notes == []


def test_an_entry_for_an_unknown_cell_is_reported_and_loses_no_report(accepted):
    found = apply_accepted(report(cell="wordcount/x"), accepted(ENTRY), TODAY)
    assert found.failed and found.lines == report(cell="wordcount/x").lines
    assert "[[accept]] 1: no cell matches 'event_window/*'" in found.notes[0]


@pytest.mark.parametrize("only", [(), ("--only", "*/w1/*")])
def test_an_entry_for_no_cell_of_the_matrix_is_an_error_before_anything_is_measured(
    tmp_path, capsys, monkeypatch, only
):
    monkeypatch.setattr(commands, "gate_revisions", lambda *_, **__: pytest.fail("measured"))
    matrix = tmp_path / "m.toml"
    matrix.write_text(MATRIX)
    accepted = tmp_path / "accepted.toml"
    command = ["gate", "--against", "HEAD", str(matrix), "--accept", str(accepted), *only]
    accepted.write_text(ENTRY.replace("event_window", "wordcount"))
    assert call(command) == EXIT_USER_ERROR
    errors = capsys.readouterr().err
    assert "[[accept]] 1: no cell matches 'wordcount/*'; the matrix has event_window/" in errors
    accepted.write_text(ENTRY.replace("/*", "/*/w2/*"))  # not measured now, but of the matrix
    with pytest.raises(pytest.fail.Exception, match="measured"):
        call(command)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("until_ratio = 1.10", "until_ratio = 0.9"), "until_ratio is 0.9"),
        (("reason =", "because ="), "reason is missing"),
        (("metric =", "metrics ="), "metric is missing"),
        (('"wall"', "3"), "metric is 3"),
    ],
)
def test_a_malformed_entry_names_the_key(accepted, change, message):
    with pytest.raises(MatrixError, match=message):
        accepted(ENTRY.replace(*change))


def test_a_missing_list_is_an_error(tmp_path):
    with pytest.raises(MatrixError, match="cannot read the accepted regressions: No such file"):
        read_accepted(tmp_path / "none.toml")
