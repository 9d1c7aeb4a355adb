"""What is printed after a run, on terminals and into pipes."""

import io

import pytest
from rich.console import Console

from streamlab.lab.cli.table import print_loads, print_searches, print_table
from streamlab.lab.runner.search.state import Bracket, State
from tests.reports.conftest import offered, trial
from tests.results.records import trial_row

LONG = "event_window@a-long-label/multicore/dgs/w2/b4096/pinned/sustainable"


def printed(show, content, *, width, terminal):
    out = io.StringIO()
    show(content, Console(file=out, width=width, force_terminal=terminal, color_system=None))
    return out.getvalue()


def searches():
    bracket = Bracket(
        r_pass_eps=20_130_000.0, r_fail_eps=20_530_000.0, confirmed=True, refuted=True, reason=None
    )
    return {LONG: State(probes=(), next=None, bracket=bracket)}


def loads():
    return [trial_row(offered(label="a-long-label-of-a-load-that-fills-its-line"))]


@pytest.mark.parametrize("width", [60, 80])
def test_piped_tables_of_loads_and_searches_are_as_wide_as_they_need_to_be(width):
    text = printed(print_loads, loads(), width=width, terminal=False)
    header, line = text.splitlines()[:2]
    assert " ".join(header.split()) == "cell status offered emitted p50 p99 p99.9 service p99 n"
    assert line.startswith(loads()[0].cell + " ")
    assert line.split()[-1] == "1"
    found = printed(print_searches, searches(), width=width, terminal=False)
    header, line = found.splitlines()[:2]
    assert header.split()[-3:] == ["within", "probes", "trials"]
    assert line.startswith(LONG + " ")
    assert "20.1 M/s" in line and "20.5 M/s" in line and "2.0%" in line
    assert "\u2026" not in text + found


def test_a_narrow_terminal_loses_columns_and_folds_ids_but_cuts_no_number():
    text = printed(print_loads, loads(), width=80, terminal=True)
    found = printed(print_searches, searches(), width=80, terminal=True)
    for out in (text, found):
        assert "\u2026" not in out
        assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    assert "service p99" not in text
    assert "offered" in text and "613 \u00b5s" in text
    assert "trials" not in found
    assert "20.1 M/s" in found and "20.5 M/s" in found
    ids = "".join(line.split(" ")[0] for line in found.splitlines()[1:])
    assert ids == LONG


def test_a_wide_terminal_has_all_columns():
    found = printed(print_searches, searches(), width=200, terminal=True)
    assert "trials" in found and LONG in found


def test_a_narrow_terminal_loses_columns_of_the_catch_up_table():
    rows = [trial_row(trial())]
    assert "min - max" in printed(print_table, rows, width=60, terminal=False)
    narrow = printed(print_table, rows, width=60, terminal=True)
    assert "min - max" not in narrow and "200 M" in narrow
