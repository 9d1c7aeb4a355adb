"""What a run leaves on the terminal for a trial."""

from streamlab.lab.cli.progress import LINES_SHOWN, outcome_of
from tests.results.records import trial_row


def test_a_difference_of_many_rows_is_cut_and_says_where_it_is_whole():
    lines = ["9 rows, expected 30", *(f"  missing row {n}" for n in range(20))]
    shown = outcome_of(
        trial_row({"status": "wrong_output", "difference": "\n".join(lines)})
    ).splitlines()
    assert shown[0] == "wrong_output: 9 rows, expected 30"
    assert shown[1:-1] == lines[1:LINES_SHOWN]
    assert shown[-1] == f"  {21 - LINES_SHOWN} more lines are in the report"


def test_a_short_reason_is_whole():
    assert (
        outcome_of(trial_row({"status": "crash", "reason": "killed\nby 9"}))
        == "crash: killed\nby 9"
    )
    assert outcome_of(trial_row({"status": "crash"})) == "crash: no reason"
