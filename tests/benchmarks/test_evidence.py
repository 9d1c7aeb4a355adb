"""What is measured for the figures, with programs and inputs of a moment."""

from pathlib import Path

import pytest

from benchmarks import evidence, ordered_log, reordering
from benchmarks.figures import ORDER, UNORDERED, Target
from engines.small_dataset import write_dataset
from tests.benchmarks.test_targets import row
from tests.workloads.suite.streams import generated
from workloads.registry import workload

CELL = "wordcount/multicore/vsn/w2/b4096"


def target(kind, **more):
    return Target(**{"name": "t", "kind": kind, "wanted": 1.0, **more})


def program(folder, script):
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_log_is_tried_in_each_setting_once_a_round_and_forms_take_turns(tmp_path, monkeypatch):
    log = tmp_path / "log"
    script = f'echo "$1 $2 $3 $4 $5 $6" >> {log}; echo "$4.5 1.0"'
    monkeypatch.setattr(ordered_log, "PROGRAM", program(tmp_path, script))
    targets = [
        target("log", ways=2, batch=64, run=1),
        target("log_ratio", ways=2, batch=64, run=1, form="scalegate"),
    ]
    found = evidence.log_rates(targets, tuples=1000)
    assert found == {
        (ORDER, (2, 64, 1)): [64.5] * evidence.LOGS,
        ("scalegate", (2, 64, 1)): [64.5] * evidence.LOGS,
    }
    turn = ["order 2 2 64 1000 1", "scalegate 2 2 64 1000 1"]
    assert log.read_text().splitlines() == turn * evidence.LOGS


def test_a_form_of_the_log_that_fails_has_no_rate(tmp_path, monkeypatch, capsys):
    script = '[ "$1" = scalegate ] && exit 1; echo "2.0 1.0"'
    monkeypatch.setattr(ordered_log, "PROGRAM", program(tmp_path, script))
    needed = [target("log_ratio", ways=1, batch=1, run=1, form="scalegate")]
    found = evidence.log_rates(needed)
    assert found[ORDER, (1, 1, 1)] == [2.0] * evidence.LOGS
    assert found["scalegate", (1, 1, 1)] == []
    assert "scalegate 1 1 1" in capsys.readouterr().err.replace("', '", " ")


def test_reordering_schemes_take_turns_with_no_order_and_one_that_fails_has_no_cost(
    tmp_path, monkeypatch, capsys
):
    log = tmp_path / "log"
    script = f'echo "$1 $2 $3 $4" >> {log}; [ "$1" = lock ] && exit 1; echo "9.0 $2.5"'
    monkeypatch.setattr(reordering, "PROGRAM", program(tmp_path, script))
    figures = [
        target("reordering", scheme="nonblocking", threads=2, batch=1),
        target("reordering", scheme="nonblocking", threads=2, batch=64),
        target("reordering", scheme="nonblocking", threads=2, batch=1, spins=450),
        target("reordering", scheme="lock", threads=2, batch=1),
    ]
    assert evidence.reordering_costs(figures, units=1000) == {
        (UNORDERED, 2, 0): [2.5] * evidence.REORDERINGS,
        ("nonblocking", 2, 0): [2.5] * evidence.REORDERINGS,
        (UNORDERED, 2, 450): [2.5] * evidence.REORDERINGS,
        ("nonblocking", 2, 450): [2.5] * evidence.REORDERINGS,
        ("lock", 2, 0): [],
    }
    one = ["none 2 1000 0", "nonblocking 2 1000 0", "none 2 100 450", "nonblocking 2 100 450"]
    rounds = one * evidence.REORDERINGS
    rounds.insert(4, "lock 2 1000 0")
    assert log.read_text().splitlines() == rounds
    assert "'lock', '2', '1000', '0'" in capsys.readouterr().err


def test_a_reconfiguration_that_fails_has_no_time_in_either_direction(capfd):
    # 2 -> 2 is no change, which the benchmark itself refuses.
    assert evidence.switch_times([target("reconfiguration", before=2, after=2)]) == {}
    assert "two different numbers of instances" in capfd.readouterr().err


def test_no_other_program_is_run_for_figures_that_do_not_need_it():
    targets = [target("rate", cell=CELL)]
    assert evidence.log_rates(targets) == {}
    assert evidence.switch_times(targets) == {}
    assert evidence.list_values(targets, [row(CELL)]) == {}


@pytest.fixture
def catalogued(tmp_path, monkeypatch):
    data = generated(workload("wordcount"), {}, 500, 1)
    dataset = write_dataset(data, "tweets", tmp_path)

    class Catalogue:
        def get(self, prefix):
            assert prefix == dataset.id
            return dataset

    monkeypatch.setattr(evidence.Catalog, "default", Catalogue)
    return data, dataset


def test_the_values_of_lists_are_counted_over_all_streams_of_the_input(catalogued):
    data, dataset = catalogued
    words = sum(len(words) for stream in data.streams for words in stream.payload["words"].rows())
    assert words > 500
    rows = [
        row(CELL, dataset=dataset.id),
        row(CELL, dataset=None, status="crash"),
        row("other", dataset="gone"),
    ]
    needed = [target("list_rate", cell=CELL, list_column="words")]
    assert evidence.list_values(needed, rows) == {(dataset.id, "words"): words}


def test_a_cell_that_no_matrix_has_is_named():
    with pytest.raises(ValueError, match=r"t: no cell gone in matrix.toml, latency.toml, "):
        evidence.cells_by_matrix([target("rate", cell="gone")])


def test_cells_are_asked_of_the_matrix_that_has_them_once():
    figures = [target("rate", cell=CELL), target("ratio", cell=CELL, over=CELL)]
    assert evidence.cells_by_matrix(figures) == {Path(evidence.HERE) / "operators.toml": [CELL]}
