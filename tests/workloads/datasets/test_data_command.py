import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streamlab.lab.cli.data import data
from streamlab.workloads.datasets.errors import DatasetError
from tests.workloads.datasets.files import log_file, log_line


def run(root: Path, *arguments: str) -> str:
    """Return what the command printed on standard output; errors propagate."""
    command = [*arguments, "--root", str(root)]
    result = CliRunner().invoke(data, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_an_answer_can_be_recomputed_from_the_output_of_show(tmp_path: Path):
    arguments = ["--param", "streams=1", "--param", "values_per_barrier=10", "--events", "110"]
    made = run(tmp_path, "build", "event_window", *arguments).strip()
    shown = json.loads(run(tmp_path, "show", made, "--json"))
    assert shown["id"].startswith(made)
    assert shown["workload"] == "event_window"
    assert shown["alphabet"]["kinds"] == ["value", "barrier"]
    assert shown["origin"]["params"] == {"streams": 1, "values_per_barrier": 10, "drift": 0}
    values, barriers = shown["streams"]
    assert values["rows"] == 100
    assert (values["ts_min"], values["ts_max"]) == (0, 99)
    table = pq.read_table(values["paths"][0])
    assert table.column_names == list(values["columns"]) == ["ts", "value"]
    windows = np.add.reduceat(table.column("value").to_numpy(), np.arange(0, 100, 10))
    assert len(windows) == barriers["rows"] == 10


def test_building_again_names_the_same_dataset(tmp_path: Path):
    one = run(tmp_path, "build", "keyed_counter", "--events", "50")
    assert run(tmp_path, "build", "keyed_counter", "--events", "50") == one
    assert run(tmp_path, "build", "keyed_counter", "--events", "50", "--seed", "2") != one
    assert len(json.loads(run(tmp_path, "list", "--json"))) == 2
    # Where it is no terminal, a line each, with all of the origin.
    lines = run(tmp_path, "list").splitlines()
    assert [line.split()[0] for line in lines[:1]] == ["id"]
    assert len(lines) == 3 and all("seed=" in line for line in lines[1:])


def test_an_import_is_listed_with_its_file_source_and_licence(tmp_path: Path):
    file = log_file(tmp_path, log_line(1, "/a", "1"), "bad", log_line(2, "/b", "1"))
    arguments = ("--max-bad", "1", "--source", "our server", "--licence", "ours alone")
    made = run(tmp_path / "data", "import", "access-log", "--file", str(file), *arguments).strip()
    assert "log.tsv" in run(tmp_path / "data", "list")
    human = run(tmp_path / "data", "show", made)
    assert "our server" in human
    assert "ours alone" in human
    assert "invented  50.0% of 4 events were invented by the import (2 of kind update)" in human
    shown = json.loads(run(tmp_path / "data", "show", made, "--json"))
    assert shown["origin"]["bad_rows"] == 1
    assert Path(shown["dictionaries"]["pages"]).is_file()


def test_an_empty_catalogue_says_how_to_fill_it(tmp_path: Path):
    assert "lab data build" in run(tmp_path / "none", "list")


def test_requests_that_make_no_sense_are_refused(tmp_path: Path):
    with pytest.raises(DatasetError, match="`lab data import --help` shows all"):
        run(tmp_path, "import", "weblog", "--file", "x")
    with pytest.raises(DatasetError, match="no dataset 'abcdef'"):
        run(tmp_path, "show", "abcdef")
    result = CliRunner().invoke(data, ["build", "event_window", "--param", "streams"])
    assert result.exit_code == 2
    assert "'streams' is not of the form K=V" in result.output


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["build", "event_window", "--seed", "1", "--seed", "2"], "--seed"),
        (["import", "trades", "--file", "a", "--previous", "b", "--previous", "c"], "--previous"),
        (["import", "tweets", "--file", "a", "--licence", "b", "--licence=c"], "--licence"),
    ],
)
def test_an_option_that_comes_twice_is_refused(arguments: list[str], option: str, tmp_path: Path):
    result = CliRunner().invoke(data, [*arguments, "--root", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert f"{option} is set 2 times; set it once" in result.output


@pytest.mark.parametrize("seed", ["-1", str(2**63), "1" * 60, "x"])
def test_a_seed_beyond_its_type_is_refused_before_anything_starts(seed: str, tmp_path: Path):
    arguments = ["build", "event_window", "--seed", seed, "--root", str(tmp_path / "none")]
    result = CliRunner().invoke(data, arguments)
    assert result.exit_code == 2
    assert "'--seed'" in result.output
    assert not (tmp_path / "none").exists()


def test_the_largest_seed_is_taken(tmp_path: Path):
    largest = str(2**63 - 1)
    made = run(tmp_path, "build", "keyed_counter", "--events", "50", "--seed", largest).strip()
    assert json.loads(run(tmp_path, "show", made, "--json"))["origin"]["seed"] == 2**63 - 1
