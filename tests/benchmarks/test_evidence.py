"""Measurements for the figures, with small programs and inputs."""

from pathlib import Path

import pytest

from benchmarks import core_programs, evidence
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.registry import workload
from tests.benchmarks.targets import row, target
from tests.workloads.suite.streams import generated

CELL = "wordcount/multicore/vsn/w2/b4096"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that puts a shell script in the place of a program of the core."""
    monkeypatch.setattr(core_programs, "FOLDER", tmp_path)
    monkeypatch.setattr(core_programs, "build", lambda name: None)

    def write(executable, script):
        path = tmp_path / executable
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def numbers_of(*targets):
    """The numbers of the programs of these figures, from both halves of their processes."""
    programs = evidence.Programs(targets)
    programs.rounds(0)
    programs.rounds(1)
    return programs.numbers


def test_programs_take_turns_and_each_is_run_once_a_round(program, tmp_path):
    log = tmp_path / "log"
    script = f'echo "$1 $2 $3 $4 $6" >> {log}; echo "$4.5 1.0"'
    program("ordered_log_bench", script)
    order, other = "ordered_log order 2 64 1", "ordered_log scalegate 2 64 1"
    times = evidence.PROGRAMS["ordered_log"].processes
    figures = [target(f"{order}: eps"), target(f"{order}: eps", over=f"{other}: eps")]
    numbers = [{"eps": 64.5, "cpu_ns": 1.0}] * times
    assert numbers_of(*figures) == {order: numbers, other: numbers}
    assert log.read_text().splitlines() == ["order 2 2 64 1", "scalegate 2 2 64 1"] * times


def test_a_failed_program_has_no_output_and_is_not_run_again(program, tmp_path, capsys):
    log = tmp_path / "log"
    script = f'echo "$1" >> {log}; [ "$1" = lock ] && exit 1; echo "9.0 $4.5"'
    program("reordering_bench", script)
    figure = target("reordering lock 2 450: cpu_ns", beyond="reordering none 2 450: cpu_ns")
    times = evidence.PROGRAMS["reordering"].processes
    assert numbers_of(figure) == {
        "reordering lock 2 450": [],
        "reordering none 2 450": [{"wall_ns": 9.0, "cpu_ns": 450.5}] * times,
    }
    assert log.read_text().split().count("lock") == 1
    assert "reordering lock 2 450: " in capsys.readouterr().err


def test_of_units_with_much_work_there_are_fewer(program):
    program("reordering_bench", 'echo "0 $3"')
    some, few = (evidence.PROGRAMS["reordering"].run("none", "2", spins) for spins in ("0", "450"))
    assert some["cpu_ns"] == 10 * few["cpu_ns"] == evidence.REORDERED_UNITS


def test_a_reconfiguration_that_fails_has_no_time_in_either_direction(capfd):
    # 2 -> 2 is no change, which the benchmark itself refuses.
    assert numbers_of(target("reconfiguration 2 2: 2 -> 2")) == {"reconfiguration 2 2": []}
    assert "two different numbers of instances" in capfd.readouterr().err


def test_no_program_is_run_for_figures_that_do_not_need_it():
    assert numbers_of(target(CELL)) == {}
    assert evidence.list_values([target(CELL)], [row(CELL)]) == {}


def test_a_program_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="t: no program 'loop 1'; there are numba_loop, "):
        evidence.Programs([target("loop 1: eps")])


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
    needed = [target(f"{CELL}: lists.words/s/worker")]
    assert evidence.list_values(needed, rows) == {(dataset.id, "words"): words}


def test_a_cell_that_no_matrix_has_is_named():
    with pytest.raises(ValueError, match=r"t: no cell gone/cell in matrix.toml, latency.toml, "):
        evidence.cells_by_matrix([target("gone/cell")])


def test_a_matrix_lists_each_of_its_cells_once():
    figures = [target(CELL), target(CELL, over=CELL)]
    assert evidence.cells_by_matrix(figures) == {Path(evidence.HERE) / "operators.toml": [CELL]}
