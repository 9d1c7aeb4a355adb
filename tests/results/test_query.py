"""Query parameters, from the matrix to the results."""

import json
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.errors import MatrixError
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import WorkloadEntry, parse_matrix
from streamlab.lab.runner.datasets import check_entries, find_dataset
from streamlab.lab.runner.provenance import host
from streamlab.lab.runner.run_directory import fingerprint
from streamlab.reports.summary import summarise
from streamlab.reports.table import group_of, title
from streamlab.results.meta import RunMeta
from streamlab.results.store import read_run
from streamlab.workloads.datasets.catalog import Catalog
from tests.lab.runner.published import publish

TABLE = '[[workload]]\nname = "forward"\n{more}\n'
ENGINE = '[[engine]]\nname = "reference"\n'
META = RunMeta(host=host(), settings={"isolation": "process"})


def cells_of(*more: str):
    matrix = parse_matrix("".join(TABLE.format(more=text) for text in more) + ENGINE, "m.toml")
    check_entries(matrix)
    return expand(matrix)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{ copys = 2 }", "no query parameter copys; it has copies"),
        ("{ copies = 0 }", "query parameter copies: must be at least 1, got 0"),
        ('{ copies = "many" }', "query parameter copies: expected int"),
    ],
)
def test_a_bad_query_parameter_is_refused_by_table(query, message):
    with pytest.raises(MatrixError, match=rf"m\.toml: \[\[workload\]\] 2: .*{message}"):
        cells_of('label = "a"', f"query = {query}")


def test_a_query_that_is_no_table_is_refused():
    with pytest.raises(MatrixError, match="key query"):
        cells_of("query = 3")


def test_two_tables_that_differ_in_their_query_need_labels():
    with pytest.raises(MatrixError, match="called forward; give each a different label"):
        cells_of("query = { copies = 2 }", "query = { copies = 3 }")


def test_cells_know_all_query_parameters():
    two, three = cells_of("", 'query = { copies = 3 }\nlabel = "three"')
    assert (dict(two.query), dict(three.query)) == ({"copies": 2}, {"copies": 3})


def test_results_of_other_queries_may_not_be_compared(tmp_path):
    dataset = publish(Catalog(root=tmp_path), "forward")
    default, same, other = cells_of(
        "", 'query = { copies = 2 }\nlabel = "b"', 'query = { copies = 3 }\nlabel = "c"'
    )
    prints = [fingerprint(cell, dataset, META) for cell in (default, same, other)]
    assert prints[0] == prints[1] != prints[2]


def test_a_dataset_of_another_input_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    dataset = publish(Catalog.default())
    entry = WorkloadEntry(name="forward", dataset=dataset.id[:12], query={"copies": 3})
    with pytest.raises(MatrixError, match="is the input of event_window, not of forward"):
        find_dataset(entry, master="local[1]")


@pytest.fixture
def matrix(tmp_path, monkeypatch):
    """Two queries of one dataset on the reference engine."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    dataset = publish(Catalog.default(), "forward").id
    path = tmp_path / "m.toml"
    path.write_text(
        '[run]\nenergy = "none"\n'
        + "".join(
            TABLE.format(
                more=f'dataset = "{dataset[:12]}"\nlabel = "x{n}"\nquery = {{ copies = {n} }}'
            )
            for n in (1, 3)
        )
        + ENGINE
    )
    return path


def test_a_dry_run_shows_the_query(capsys, matrix):
    assert call(["run", str(matrix), "--dry-run"]) == EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "forward@x3/reference/sequential/w1  x1  copies=3"


def test_a_run_verifies_each_query_and_records_it(capsys, matrix, tmp_path):
    assert call(["run", str(matrix)]) == EXIT_OK
    run = read_run(Path(capsys.readouterr().out.splitlines()[-1]))
    assert [row.status for row in run.rows] == ["ok", "ok"]
    assert [json.loads(row.workload_query) for row in run.rows] == [
        {"copies": 1},
        {"copies": 3},
    ]
    assert run.rows[0].outputs * 3 == run.rows[1].outputs == run.rows[1].expected_outputs
    assert [title(group_of(cell)) for cell in summarise(run.rows)] == [
        "forward (x1, copies 1)",
        "forward (x3, copies 3)",
    ]
    assert len({row.dataset for row in run.rows}) == 1
    assert len(list((tmp_path / "data").glob("*/expected/forward-*"))) == 2
    assert run.meta.cells["forward@x3/reference/sequential/w1"]["query"] == {"copies": 3}


def test_without_variants_programs_and_queries_run_each_in_its_own(capsys, matrix, tmp_path):
    ids = [publish(Catalog.default(), name).id[:12] for name in ("event_window", "forward")]
    path = tmp_path / "mixed.toml"
    path.write_text(
        f'[run]\nenergy = "none"\n'
        f'[[workload]]\nname = "event_window"\nlabel = "a"\ndataset = "{ids[0]}"\n'
        f'[[workload]]\nname = "forward"\nlabel = "b"\ndataset = "{ids[1]}"\n'
        '[[engine]]\nname = "multicore"\n'
    )
    assert call(["run", str(path)]) == EXIT_OK
    run = read_run(Path(capsys.readouterr().out.splitlines()[-1]))
    assert {row.cell: row.status for row in run.rows} == {
        "event_window@a/multicore/dgs/w1/b4096": "ok",
        "forward@b/multicore/vsn/w1/b4096": "ok",
    }


def test_a_bad_query_is_a_user_error(capsys, matrix):
    matrix.write_text(matrix.read_text().replace("copies = 3", "copies = -3"))
    assert call(["run", str(matrix)]) == EXIT_USER_ERROR
    assert "[[workload]] 2: workload forward, query parameter copies" in capsys.readouterr().err
