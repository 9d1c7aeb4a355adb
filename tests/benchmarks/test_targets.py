"""Figures from made-up rows, and the real list of figures against the real matrices."""

import json
from pathlib import Path

import pytest

from benchmarks.evidence import HERE, MATRICES
from benchmarks.figures import AT_MOST, KINDS, Evidence, Target, measured, read_targets
from benchmarks.generator import percentile_ns
from benchmarks.targets import in_short
from lab.cells import expand
from lab.matrix import parse_matrix
from results import schema

CELL = "event_window/multicore/dgs/w2/b4096"


def row(cell=CELL, **columns):
    given = {"cell": cell, "status": "ok", "purpose": "cell", "repetition": 1, "order_index": 0}
    return dict.fromkeys(schema.NAMES) | given | columns


def target(kind, **more):
    return Target(**{"name": "t", "kind": kind, "wanted": 1.0, "cell": CELL, **more})


def test_rate_is_the_median_over_processes():
    rows = [row(throughput_eps=rate) for rate in (1.0, 9.0, 2.0)]
    assert measured(target("rate"), Evidence(rows=rows)) == 2.0


def test_ratio_and_share_divide_medians():
    rows = [row(throughput_eps=6.0), row("other", throughput_eps=3.0)]
    evidence = Evidence(rows=rows, loops_eps=[1.0, 100.0, 12.0])
    assert measured(target("ratio", over="other"), evidence) == 2.0
    assert measured(target("share"), evidence) == 0.5


def test_counter_is_the_median_of_the_engines_own():
    rows = [row(counters=json.dumps({"sync": value}), throughput_eps=1.0) for value in (5, 7, 6)]
    assert measured(target("counter", counter="sync"), Evidence(rows=rows)) == 6


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


def test_every_figure_names_cells_that_its_matrix_has():
    cells = {
        name: {cell.id for cell in expand(parse_matrix(path.read_text(), str(path)))}
        for name, path in MATRICES.items()
    }
    for figure in read_targets(Path(HERE) / "targets.toml"):
        matrix = "latency" if figure.kind == "latency" else "matrix"
        assert set(figure.cells) <= cells[matrix], figure.name
        if figure.column:
            assert figure.column in schema.NAMES


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
