"""Tables printed after a run, on terminals and into pipes."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from streamlab.engines import registry
from streamlab.lab.cli.table import WIDEST, print_loads, print_searches, print_table
from streamlab.lab.runner.search.state import Bracket, State
from streamlab.reports.engine_traits import variant_label
from streamlab.workloads import registry as workloads
from tests.reports.conftest import offered, searched, trial
from tests.results.records import trial_row


def printed(show, *content, width=WIDEST, terminal=False):
    out = io.StringIO()
    show(*content, Console(file=out, width=width, force_terminal=terminal, color_system=None))
    return out.getvalue()


def table_lines(text):
    """The lines up to the first empty one: headings and rows."""
    return text.partition("\n\n")[0].splitlines()


def searches():
    row = trial_row(searched(purpose="double", probe=1, rate_eps=2e7))
    bracket = Bracket(
        r_pass_eps=20_130_000.0, r_fail_eps=20_530_000.0, confirmed=True, refuted=True, reason=None
    )
    return [row], {row.cell: State(probes=(), next=None, bracket=bracket)}


LONGEST = max(workloads.names(), key=len)
VARIANTS = [(name, v.name) for name in registry.names() for v in registry.engine(name).variants()]
TAG = "a-long-label-of-a-table-of-the-matrix"


def test_every_variant_of_an_engine_has_a_name_of_its_own():
    labels = [variant_label(*variant) for variant in VARIANTS]
    assert len(set(labels)) == len(labels)
    assert all(
        registry.engine(engine).variants()[0].label for engine in set(dict(VARIANTS)) - {"fake"}
    )


def catch_up():
    """Rows of every variant, with long values of every column; every fifth has a failure."""
    where = {"unit": "whole input", "origin": "memory", "also_timed": "reading, decoding, Python"}
    return [
        trial(
            engine,
            LONGEST,
            variant=variant,
            workers=workers,
            batch=None,
            repetition=repetition,
            eps=10.0 ** (n % 9) * (1 + repetition / 10),
            latency_ns=(1 + 10**n % 10**9, 9 * 10**9),
            status="crash" if n % 5 == 4 and repetition == 3 else "ok",
            cell=f"{LONGEST}/{engine}/{variant}/w{workers}/{TAG}",
            workload_label="a label of the input",
            **where,
        )
        for n, (engine, variant) in enumerate(VARIANTS)
        for workers in (8, 128)
        for repetition in (1, 2, 3)
    ]


def loads():
    """Rows of every variant at two rates, with long labels."""
    return [
        offered(
            engine,
            rate_eps=rate_eps,
            label=f"{TAG}-{rate_eps:g}",
            variant=variant,
            workload=LONGEST,
            workers=1 + n % 3,
            batch=1_048_576,
        )
        for n, (engine, variant) in enumerate(VARIANTS)
        for rate_eps in (1_234.5, 98_765_432.0)
    ]


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(("show", "make"), [(print_table, catch_up), (print_loads, loads)])
def test_no_line_is_wider_than_100_columns_and_no_cell_wraps(show, make, terminal):
    rows = list(map(trial_row, make()))
    lines = table_lines(printed(show, rows, width=250, terminal=terminal))
    assert max(map(cell_len, lines)) <= WIDEST
    # One line a cell, which begins with its engine's name.
    engines = {cell: variant_label(row.engine, row.variant) for row in rows for cell in [row.cell]}
    found = [line for line in lines[1:] if line.startswith("  ")]
    assert len(found) == len(engines)
    assert sorted(line.split()[0].strip(",\u2026") for line in found) == sorted(
        name.split()[0].strip(",") for name in engines.values()
    )


def test_columns_are_those_that_differ_and_the_others_are_stated_once():
    rows = [
        trial_row(trial(workers=w, repetition=n, eps=w * n * 1e8)) for w in (1, 2) for n in (1, 2)
    ]
    lines = printed(print_table, rows).splitlines()
    assert lines[0].split("  ")[1] == "engine"
    assert "status" not in lines[0] and " n" not in lines[0] and "workers" in lines[0]
    shared = next(line for line in lines if line.startswith("all rows: "))
    assert "status ok" in shared and "n 2" in shared and "p99 900 µs" in shared


def test_groups_name_comparable_cells_and_ratios_their_base():
    rows = [
        trial_row(trial("dataframe", variant="numpy", batch=None, eps=1e9)),
        trial_row(trial("spark", variant="cached", batch=None, workers=2, eps=1e6)),
        trial_row(trial(eps=5e8)),
    ]
    text = printed(print_table, rows)
    lines = text.splitlines()
    assert lines[1] == "event_window, the whole input at once, from memory"
    assert lines[2].split()[0] == "NumPy" and "base" in lines[2]
    assert "1000 \u00d7 slower than NumPy" in lines[3]
    assert lines[4] == "event_window, blocks of 4,096, from memory"
    assert "alone: no ratio" in text


def test_ranges_that_overlap_are_marked():
    rates = ((1, 1e8), (1, 2e8), (2, 1.9e8), (2, 2.5e8))
    rows = [
        trial_row(trial(workers=workers, repetition=n, eps=eps))
        for n, (workers, eps) in enumerate(rates)
    ]
    text = printed(print_table, rows)
    assert "~ 1.47 \u00d7 1 worker" in text and "~: the ranges of the repetitions overlap" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_a_search_has_its_bracket_on_one_line(terminal):
    heading, title, line = table_lines(
        printed(print_searches, *searches(), width=80, terminal=terminal)
    )
    assert heading.split()[-1] == "status" and title == "event_window"
    assert line.startswith("  multicore, blocks of 4,096  ")
    assert len(line) <= (80 if terminal else WIDEST)
    assert "20.1 M/s" in line and "20.5 M/s" in line and ("2.0%" in line) is not terminal


def test_a_run_of_searches_only_has_no_table_of_loads():
    assert printed(print_loads, searches()[0]) == ""


def test_a_narrow_terminal_loses_columns_but_cuts_no_number():
    rows = [trial_row(offered(label="a-long-label-of-a-load-that-fills-its-line"))]
    text = printed(print_loads, rows, width=80, terminal=True)
    assert max(len(line) for line in table_lines(text)) <= 80
    assert "service p99" not in text
    assert "20.0 k/s" in text and "613 \u00b5s" in text
    text = printed(print_table, [trial_row(trial())], width=60, terminal=True)
    assert "CPU s/M" not in text and "200 M/s" in text
