"""Figures from made-up rows, and the real list of figures against the real matrices."""

import json
from pathlib import Path

import pytest

from benchmarks.evidence import HERE, MATRICES, cells_by_matrix
from benchmarks.figures import (
    AT_MOST,
    KINDS,
    ORDER,
    UNORDERED,
    Evidence,
    Target,
    measured,
    read_targets,
)
from benchmarks.generator import percentile_ns
from benchmarks.ordered_log import FORMS
from benchmarks.reordering import SCHEMES
from benchmarks.targets import in_short
from lab.matrix.cells import expand
from lab.matrix.matrix import parse_matrix
from results import schema
from workloads.registry import workload

CELL = "event_window/multicore/dgs/w2/b4096"


def row(cell=CELL, **columns):
    given = {"cell": cell, "status": "ok", "purpose": "cell", "repetition": 1, "order_index": 0}
    return dict.fromkeys(schema.NAMES) | given | columns


def target(kind, **more):
    return Target(**{"name": "t", "kind": kind, "wanted": 1.0, "cell": CELL, **more})


def test_rate_is_the_median_over_processes():
    rows = [row(throughput_eps=rate) for rate in (1.0, 9.0, 2.0)]
    assert measured(target("rate"), Evidence(rows=rows)) == 2.0


def test_scatter_is_the_slowest_process_over_the_median():
    rows = [row(throughput_eps=rate) for rate in (10.0, 9.0, 4.0, 11.0, 10.0, 10.0)]
    assert measured(target("scatter"), Evidence(rows=rows)) == 0.4
    assert measured(target("scatter"), Evidence(rows=[row(status="wrong_output")])) is None


def test_ratio_and_share_divide_medians():
    rows = [row(throughput_eps=6.0), row("other", throughput_eps=3.0)]
    evidence = Evidence(rows=rows, loops_eps=[1.0, 100.0, 12.0])
    assert measured(target("ratio", over="other"), evidence) == 2.0
    assert measured(target("share"), evidence) == 0.5


def test_counter_is_the_median_of_the_engines_own():
    rows = [row(counters=json.dumps({"sync": value}), throughput_eps=1.0) for value in (5, 7, 6)]
    assert measured(target("counter", counter="sync"), Evidence(rows=rows)) == 6


def operator_row(cell=CELL, duration_s=1.0, **columns):
    found = {"throughput_eps": 1.0, "duration_s": duration_s, "workers": 2, "dataset": "d"}
    return row(cell, **found, **columns)


def comparing(cell, pairs, duration_s):
    return operator_row(cell, duration_s, counters=json.dumps({"comparisons": pairs}))


def test_a_counters_rate_is_the_median_of_the_processes_own():
    rows = [comparing(CELL, 8, 2.0), comparing(CELL, 8, 1.0), comparing(CELL, 10, 2.0)]
    assert measured(target("counter_rate", counter="comparisons"), Evidence(rows=rows)) == 5.0


def test_a_counters_ratio_divides_the_medians_of_rates():
    rows = [comparing(CELL, 8, 1.0), comparing("other", 8, 2.0)]
    wanted = target("counter_ratio", over="other", counter="comparisons")
    assert measured(wanted, Evidence(rows=rows)) == 2.0
    assert measured(wanted, Evidence(rows=rows[:1])) is None
    wrong = row("other", status="wrong_output", duration_s=1.0)
    assert measured(wanted, Evidence(rows=[*rows, wrong])) is None


def test_a_lists_rate_is_of_the_values_in_the_input_on_each_worker():
    rows = [operator_row(duration_s=seconds) for seconds in (1.0, 2.0, 4.0)]
    evidence = Evidence(rows=rows, lists={("d", "words"): 120, ("d", "hashtags"): 8})
    assert measured(target("list_rate", list_column="words"), evidence) == 30.0


def test_the_logs_figures_are_medians_over_processes_of_their_own_setting():
    rates = {
        (ORDER, (2, 64, 1)): [30.0, 10.0, 20.0],
        (ORDER, (2, 64, 8)): [1.0],
        ("scalegate", (2, 64, 1)): [5.0, 1.0, 2.0],
    }
    evidence = Evidence(logs_eps=rates)
    setting = {"cell": "", "ways": 2, "batch": 64, "run": 1}
    assert measured(target("log", **setting), evidence) == 20.0
    assert measured(target("log_ratio", **setting, form="scalegate"), evidence) == 10.0
    assert measured(target("log_ratio", **setting, form="heap"), evidence) is None
    assert measured(target("log", **setting), Evidence()) is None


def test_a_reconfigurations_figure_is_that_of_its_direction():
    evidence = Evidence(switches_ns={(1, 2): [3.0, 1.0, 2.0], (2, 1): [9.0]})
    assert measured(target("reconfiguration", cell="", before=1, after=2), evidence) == 2.0
    assert measured(target("reconfiguration", cell="", before=2, after=16), evidence) is None


def test_a_counters_share_divides_the_medians_of_counters():
    rows = [comparing(CELL, pairs, 1.0) for pairs in (2, 90, 4)]
    rows += [comparing("other", 8, 2.0)]
    wanted = target("counter_share", over="other", counter="comparisons")
    assert measured(wanted, Evidence(rows=rows)) == 0.5
    assert measured(wanted, Evidence(rows=rows[:3])) is None


def test_a_reordering_schemes_cost_is_beyond_no_order_and_shared_by_the_records_of_a_unit():
    costs = {
        ("nonblocking", 2, 7): [15.0, 90.0, 13.0],
        (UNORDERED, 2, 7): [5.0, 3.0, 7.0],
        ("nonblocking", 2, 0): [900.0],
        (UNORDERED, 2, 0): [1.0],
        ("nonblocking", 1, 7): [1.0],
    }
    evidence = Evidence(reordering_ns=costs)
    wanted = {"cell": "", "scheme": "nonblocking", "batch": 2, "spins": 7}
    assert measured(target("reordering", **wanted, threads=2), evidence) == 5.0
    assert measured(target("reordering", **wanted, threads=1), evidence) is None


def test_latency_is_that_of_the_searchs_level_and_of_no_other_probe():
    rows = [
        row(purpose="confirm", latency_p99_ns=1),
        *(row(purpose="level", latency_p99_ns=value) for value in (30, 10, 20)),
    ]
    wanted = target("latency", column="latency_p99_ns")
    assert measured(wanted, Evidence(rows=rows)) == 20


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(purpose="level", latency_p99_ns=None)],
        [row(purpose="level", status="invalid", latency_p99_ns=5)],
    ],
)
def test_a_latency_that_was_not_verified_is_no_number(rows):
    wanted = target("latency", column="latency_p99_ns")
    assert measured(wanted, Evidence(rows=rows)) is None


def test_one_wrong_answer_leaves_a_cell_without_a_number():
    rows = [row(throughput_eps=1.0), row(status="wrong_output")]
    assert measured(target("rate"), Evidence(rows=rows)) is None


def test_the_generators_figures_are_medians_over_processes():
    evidence = Evidence(generators_eps=[1.0, 3.0, 2.0], send_lags_ns=[10.0, 30.0, 20.0])
    assert measured(target("generator", cell=""), evidence) == 2.0
    assert measured(target("send_lag", cell=""), evidence) == 20.0
    assert measured(target("generator", cell=""), Evidence()) is None


def test_the_gates_figures_are_shares_of_suites_and_of_benchmarks():
    evidence = Evidence(alarms=[False, True, False, False], seen=[True, True, False])
    assert measured(target("false_alarms", cell=""), evidence) == 0.25
    assert measured(target("power", cell=""), evidence) == pytest.approx(2 / 3)
    assert measured(target("power", cell=""), Evidence()) is None


def test_bounds_are_inclusive_and_go_the_right_way():
    for kind in KINDS:
        figure = target(kind)
        assert figure.reached(1.0)
        assert figure.reached(0.5) == (figure.bound == AT_MOST)
        assert figure.reached(2.0) == (figure.bound != AT_MOST)


def write(folder, text):
    path = folder / "targets.toml"
    path.write_text(f'[[target]]\nname = "mine"\n{text}\n')
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('kind = "speed"\nwanted = 1', "'mine' has kind 'speed'; there are rate, "),
        ('kind = "rate"\nwanted = 1', r"'mine' has keys .*, expected \['cell', "),
        ('kind = "rate"\nwanted = 1\ncell = "a"\nover = "b"', "'mine' has keys .*'over'"),
    ],
)
def test_a_malformed_figure_is_refused_by_name(tmp_path, text, said):
    with pytest.raises(ValueError, match=said):
        read_targets(write(tmp_path, text))


def test_a_pattern_that_matches_no_figure_lists_those_that_exist(tmp_path):
    path = write(tmp_path, 'kind = "generator"\nwanted = 1')
    assert [t.name for t in read_targets(path, ["m*"])] == ["mine"]
    with pytest.raises(ValueError, match="--only 'x' matches no figure; there are mine"):
        read_targets(path, ["x"])


def test_every_figure_names_cells_and_columns_that_there_are():
    figures = read_targets(Path(HERE) / "targets.toml")
    matrices = cells_by_matrix(figures)
    assert set(matrices) == set(MATRICES)
    searched = {
        cell.id
        for path in MATRICES
        for cell in expand(parse_matrix(path.read_text(), str(path)))
        if cell.search is not None
    }
    inputs = dict(workload("wordcount").streams({"streams": 1}, 1)[0].lists)
    for figure in figures:
        assert all((cell in searched) == (figure.kind == "latency") for cell in figure.cells)
        assert not figure.column or figure.column in schema.NAMES
        assert not figure.list_column or figure.list_column in inputs
        assert not figure.form or figure.form in FORMS
        assert not figure.scheme or figure.scheme in SCHEMES


def test_percentile_is_the_top_of_the_bucket_in_which_the_share_is_reached():
    values_ns, counts = [100, 2503], [99, 1]
    assert percentile_ns(values_ns, counts, 0.99) == 100
    assert percentile_ns(values_ns, counts, 0.991) == 2503
    with pytest.raises(ValueError, match="no send lag"):
        percentile_ns([], [], 0.99)


@pytest.mark.parametrize(
    ("value", "text"),
    [(3e8, "300 M"), (2e6, "2 M"), (2000, "2000"), (20_000, "20 k"), (0.9812, "0.981")],
)
def test_numbers_are_shown_with_three_digits(value, text):
    assert in_short(value) == text
