"""Figures from made-up rows, and the real list of figures against the real matrices."""

import json
from pathlib import Path

import pytest

from benchmarks.core_programs import CORE_PROGRAMS
from benchmarks.evidence import HERE, MATRICES, PROGRAMS, cells_by_matrix
from benchmarks.figures import LISTS, SLOWEST, Evidence, judge_target, read_targets
from benchmarks.figures import estimate as estimate_of
from benchmarks.generator import percentile_ns
from benchmarks.targets import in_short, show
from streamlab.lab.figures.verdict import INCONCLUSIVE, MET, MISSED, NOT_JUDGED
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.results import schema
from streamlab.workloads.registry import workload
from tests.benchmarks.targets import CELL, row, target


def measured(figure, **evidence):
    found = estimate_of(figure, Evidence(**evidence))
    return None if found is None else found.value


def test_throughput_is_the_median_over_processes():
    rows = [row(throughput_eps=rate) for rate in (1.0, 9.0, 2.0)]
    assert measured(target(), rows=rows) == 2.0


def test_the_slowest_process_over_the_median():
    rows = [row(throughput_eps=rate) for rate in (10.0, 9.0, 4.0, 11.0, 10.0, 10.0)]
    scatter = target(f"{CELL}: slowest", over=CELL)
    assert measured(scatter, rows=rows) == pytest.approx(0.4)
    assert measured(scatter, rows=[row(status="wrong_output")]) is None


def test_a_quotient_is_of_medians_of_cells_and_of_programs():
    rows = [row(throughput_eps=6.0), row("other/cell", throughput_eps=3.0)]
    loops = {"numba_loop": [{"eps": rate} for rate in (1.0, 100.0, 12.0)]}
    assert measured(target(over="other/cell"), rows=rows) == pytest.approx(2.0)
    share = target(over="numba_loop: eps")
    assert measured(share, rows=rows, programs=loops) == pytest.approx(0.5)
    assert measured(share, rows=rows) is None


def counting(cell=CELL, duration_s=1.0, **counters):
    return row(cell, duration_s=duration_s, workers=2, dataset="d", counters=json.dumps(counters))


def test_a_counter_is_the_engines_own_and_a_column_the_rows():
    rows = [counting(sync=value) for value in (5, 7, 6)]
    assert measured(target(f"{CELL}: sync"), rows=rows) == 6
    assert measured(target(f"{CELL}: no_such_counter"), rows=rows) is None
    assert measured(target(f"{CELL}: workers"), rows=rows) == 2


def test_a_counters_rate_is_the_median_of_the_processes_own():
    rows = [counting(pairs=8, duration_s=2.0), counting(pairs=8), counting(pairs=10, duration_s=2)]
    assert measured(target(f"{CELL}: pairs/s"), rows=rows) == 5.0
    assert measured(target(f"{CELL}: pairs/s/worker"), rows=rows) == 2.5


def test_a_quotient_of_counters_needs_every_answer_verified():
    rows = [counting(pairs=8), counting("other/cell", pairs=8, duration_s=2.0)]
    expected = target(f"{CELL}: pairs/s", over="other/cell: pairs/s")
    assert measured(expected, rows=rows) == pytest.approx(2.0)
    assert measured(expected, rows=rows[:1]) is None
    wrong = row("other/cell", status="wrong_output", duration_s=1.0)
    assert measured(expected, rows=[*rows, wrong]) is None


def test_a_lists_rate_is_of_the_values_in_the_input_on_each_worker():
    rows = [counting(duration_s=seconds) for seconds in (1.0, 2.0, 4.0)]
    lists = {("d", "words"): 120, ("d", "hashtags"): 8}
    assert measured(target(f"{CELL}: lists.words/s/worker"), rows=rows, lists=lists) == 30.0


def test_a_programs_figure_is_the_median_of_its_processes():
    said = {
        "ordered_log order 2 64 1": [{"eps": eps} for eps in (30.0, 10.0, 20.0)],
        "ordered_log scalegate 2 64 1": [{"eps": eps} for eps in (5.0, 1.0, 2.0)],
        "reconfiguration 1 2": [{"1 -> 2": ns, "2 -> 1": 9.0} for ns in (3.0, 1.0, 2.0)],
    }
    log = "ordered_log order 2 64 1: eps"
    assert measured(target(log), programs=said) == 20.0
    over = target(log, over="ordered_log scalegate 2 64 1: eps")
    assert measured(over, programs=said) == pytest.approx(10.0)
    assert measured(target(log, over="ordered_log heap 2 64 1: eps"), programs=said) is None
    assert measured(target("reconfiguration 1 2: 1 -> 2"), programs=said) == 2.0
    assert measured(target(log)) is None


def test_a_difference_is_shared_by_the_records_of_a_unit():
    said = {
        "reordering nonblocking 2 7": [{"cpu_ns": ns} for ns in (15.0, 90.0, 13.0)],
        "reordering none 2 7": [{"cpu_ns": ns} for ns in (5.0, 3.0, 7.0)],
    }
    mine, none = ("reordering nonblocking 2 7: cpu_ns", "reordering none 2 7: cpu_ns")
    assert measured(target(mine, beyond=none, per=2), programs=said) == 5.0
    assert measured(target(mine, beyond="reordering none 1 7: cpu_ns"), programs=said) is None


def test_latency_is_that_of_the_searchs_level_and_of_no_other_probe():
    rows = [
        row(purpose="confirm", latency_p99_ns=1),
        *(row(purpose="level", latency_p99_ns=value) for value in (30, 10, 20)),
    ]
    assert measured(target(f"{CELL}: latency_p99_ns"), rows=rows) == 20


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(purpose="level", latency_p99_ns=None)],
        [row(purpose="level", status="invalid", latency_p99_ns=5)],
        [
            row(purpose="level", latency_p99_ns=5),
            row(purpose="level", status="wrong_output", latency_p99_ns=5),
        ],
    ],
)
def test_a_latency_that_was_not_verified_is_no_number(rows):
    assert measured(target(f"{CELL}: latency_p99_ns"), rows=rows) is None


def test_one_wrong_answer_leaves_a_cell_without_a_number():
    rows = [row(throughput_eps=1.0), row(status="wrong_output")]
    assert measured(target(), rows=rows) is None


@pytest.mark.parametrize(
    ("rates", "outcome", "indicates"),
    [
        ((2.0, 2.1, 2.05), MET, MET),
        ((0.5, 0.51, 0.52), MISSED, MISSED),
        ((1.0, 1.0, 1.0), MET, MET),  # bounds are inclusive
        ((0.7, 1.1, 1.5), INCONCLUSIVE, MET),
        ((0.7, 0.9, 1.5), INCONCLUSIVE, MISSED),
        ((), NOT_JUDGED, NOT_JUDGED),
    ],
)
def test_a_figure_is_judged_by_the_interval_of_its_processes(rates, outcome, indicates, capsys):
    evidence = Evidence(rows=[row(throughput_eps=rate) for rate in rates])
    claim = judge_target(target(), evidence)
    assert (claim.outcome, claim.indicates) == (outcome, indicates)
    assert show([target()], evidence) == (indicates != MET)
    assert ("within noise" in capsys.readouterr().out) == (outcome == INCONCLUSIVE)


def test_an_upper_bound_goes_the_other_way():
    rows = [row(throughput_eps=rate) for rate in (2.0, 2.1, 2.05)]
    assert judge_target(target(at_most=1.0), Evidence(rows=rows)).outcome == MISSED
    assert judge_target(target(at_most=3.0), Evidence(rows=rows)).outcome == MET


def write(folder, text):
    path = folder / "targets.toml"
    path.write_text(f'[[target]]\nname = "mine"\n{text}\n')
    return path


@pytest.mark.parametrize(
    "text",
    [
        "at_least = 1",
        'value = "a/b"',
        'value = "a/b"\nat_least = 1\nat_most = 2',
        'value = "a/b"\nat_least = 1\nkind = "rate"',
        'value = "a/b"\nat_least = 1\nover = "c/d"\nbeyond = "e/f"',
    ],
)
def test_a_malformed_figure_is_refused_by_name(tmp_path, text):
    with pytest.raises(ValueError, match=r"targets.toml: target 'mine' has keys .*; expected name"):
        read_targets(write(tmp_path, text))


def test_a_pattern_that_matches_no_figure_lists_those_that_exist(tmp_path):
    path = write(tmp_path, 'value = "generator: eps"\nat_least = 1')
    assert [t.name for t in read_targets(path, ["m*"])] == ["mine"]
    with pytest.raises(ValueError, match="--only 'x' matches no figure; there are mine"):
        read_targets(path, ["x"])


def test_every_figure_names_cells_programs_and_columns_that_there_are():
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
    for quantity in {q for figure in figures for q in figure.quantities}:
        bare = quantity.name.split("/")[0]
        if quantity.is_of_cell:
            at_a_rate = bare.startswith("latency_") or bare == "marker_period_ns"
            assert (quantity.source in searched) == at_a_rate
            if bare.startswith(LISTS):
                assert bare.removeprefix(LISTS) in inputs
            elif bare not in {"sync_median_ns", "graph_cpu_s_per_mtuple", "marker_period_ns"}:
                assert bare in {SLOWEST, *schema.NAMES}
        else:
            program, *arguments = quantity.source.split()
            assert program in PROGRAMS
            ways = CORE_PROGRAMS[program].ways if program in CORE_PROGRAMS else ()
            assert not ways or arguments[0] in {way.split()[0] for way in ways}


def test_percentile_is_the_top_of_the_bucket_in_which_the_share_is_reached():
    values_ns, counts = [100, 2503], [99, 1]
    assert percentile_ns(values_ns, counts, 0.99) == 100
    assert percentile_ns(values_ns, counts, 0.991) == 2503
    with pytest.raises(ValueError, match="no send lag"):
        percentile_ns([], [], 0.99)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3e8, "300 M"),
        (2e6, "2 M"),
        (2000, "2000"),
        (20_000, "20 k"),
        (0.9812, "0.981"),
        (-142e6, "-142 M"),
    ],
)
def test_numbers_are_shown_with_three_digits(value, text):
    assert in_short(value) == text
