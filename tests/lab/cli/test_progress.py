"""Progress of long commands without a terminal: lines on standard error with the remaining time."""

from io import StringIO

import pytest
from rich.console import Console

from streamlab.lab.cli import EXIT_OK, call, progress
from streamlab.lab.cli.progress import Terminal, announce, time_text
from streamlab.lab.matrix.cells import expand, interleave
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.workloads.model.check import check
from streamlab.workloads.registry import workload
from tests.results.records import trial_row

FINISHED = trial_row(
    {"cell": "c", "workload": "wordcount", "engine": "fake", "variant": "correct", "workers": 1}
    | {"repetition": 1, "order_index": 0, "status": "ok"}
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_long_step_leaves_a_line_now_and_then_and_one_at_its_end(clock, capfd):
    with announce("laws of it") as show:
        for clock[0], done in ((1, 10), (6, 20), (8, 90), (11.5, 99), (17, 100)):
            show("C1", done, 100)
    assert capfd.readouterr().err.splitlines() == [
        "laws of it: C1, 20%, about 24 s left",  # 80 of 100 at 20 in 6 s
        "laws of it: C1, 99%",
        "laws of it: C1, 100%",
        "laws of it: 17.0 s",
    ]


def test_a_quiet_step_prints_nothing(clock, capfd):
    with announce("laws of it", quiet=True) as show:
        clock[0] = 20
        show("C1", 10, 100)
    assert capfd.readouterr().err == ""


def test_the_bar_says_by_how_much_a_trial_is_over_its_expected_time(clock):
    matrix = '[[workload]]\nname = "wordcount"\n[[engine]]\nname = "fake"\nrepetitions = 3\n'
    first, second, _ = trials = interleave(expand(parse_matrix(matrix, "m.toml")))
    screen = StringIO()
    terminal = Terminal(console=Console(file=screen, width=200, force_terminal=True))
    shown = []
    with terminal.trials(trials):
        terminal.started(first)
        clock[0] = 20
        terminal.finished(first, FINISHED)
        terminal.started(second)
        for clock[0] in (20, 30, 40, 100):
            shown.append(terminal.time_left_text())
    assert shown == [
        "about 40 s left",
        "about 30 s left",
        "about 20 s left",
        "about 20 s left, this trial is over by 60 s",
    ]
    assert shown[-1] in screen.getvalue()


@pytest.mark.parametrize(("seconds", "text"), [(119, "119 s"), (600, "10 min"), (9000, "2.5 h")])
def test_times_are_in_the_largest_fitting_unit(seconds, text):
    assert time_text(seconds) == text


def test_the_check_counts_histories_up_to_the_last_law():
    seen = []
    program = workload("wordcount").program
    report = check(program, examples=5, progress=lambda *call: seen.append(call))
    laws, histories, totals = zip(*seen, strict=True)
    assert tuple(dict.fromkeys(laws)) == report.checked
    assert [*histories] == sorted(histories) and set(totals) == {5 * len(report.checked)}
    assert histories[0] == 0 and histories[-1] >= 5 * (len(report.checked) - 1)


@pytest.mark.parametrize(("options", "lines"), [((), 1), (("-q",), 0)])
def test_the_command_shows_the_progress_of_its_laws(options, lines, monkeypatch, capfd):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0)
    assert call(["check", "linear_road_pos_rep", "--examples", "3", *options]) == EXIT_OK
    captured = capfd.readouterr()
    assert "laws x 3 histories" in captured.out
    assert bool(captured.err.count("laws of linear_road_pos_rep: order for pos_rep, 0%")) == bool(
        lines
    )
