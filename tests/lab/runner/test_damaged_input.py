"""A run whose input is damaged ends before anything is measured, or makes the input again."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.lab.runner.datasets import find_dataset
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import read_job, write_job
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.integrity import verify
from streamlab.workloads.registry import workload
from tests.lab.engine_trial import engine_trial
from tests.lab.runner.runs import run_lab
from tests.workloads.datasets.small_datasets import flip

WITHIN_THE_FIRST_PAGE = 8 * 200


def test_imported_input_that_is_damaged_ends_the_run_before_it_begins(
    capsys, matrix, dataset, tmp_path
):
    stream = Catalog.default().get(dataset).streams[0]
    flip(stream.path, WITHIN_THE_FIRST_PAGE)
    code, out, err = run_lab(capsys, matrix(["correct"]))
    assert (code, out) == (EXIT_USER_ERROR, [])
    assert f"{stream.path} (stream {stream.name}) is damaged" in err
    assert "build or import it again" in err
    assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()
    flip(stream.path, WITHIN_THE_FIRST_PAGE)
    assert run_lab(capsys, matrix(["correct"]))[0] == EXIT_OK


@pytest.mark.full
def test_generated_input_that_is_damaged_is_generated_again_with_the_same_id(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    text = '[[workload]]\nname = "event_window"\nevents = 1000\n[[engine]]\nname = "fake"\n'
    (entry,) = parse_matrix(text, "test").workloads
    messages: list[str] = []
    made = find_dataset(entry, master="local[1]", say=messages.append)
    assert find_dataset(entry, master="no Spark", say=messages.append) == made
    assert messages == []
    flip(made.streams[0].path, WITHIN_THE_FIRST_PAGE)
    again = find_dataset(entry, master="local[1]", say=messages.append)
    assert again == made
    assert all(stream.stamp is not None for stream in again.streams)
    (line,) = messages
    assert "will be generated again" in line and str(made.streams[0].path) in line
    assert verify(Catalog.default().get(made.id)) == made


@pytest.fixture
def checked(tmp_path):
    """A trial whose input has been checked, as a run does."""
    data = write_dataset(
        ordinary_input(workload("event_window")), "event_window", tmp_path / "data"
    )
    return engine_trial(
        dataset=verify(data),
    )


def test_input_that_is_damaged_during_a_run_gives_no_number_and_is_not_the_engines_fault(
    checked, tmp_path
):
    path = checked.dataset.streams[0].path
    flip(path, WITHIN_THE_FIRST_PAGE)
    row = run_trial(checked, log=tmp_path / "log", timeout_s=600).columns
    assert row["status"] == "invalid"
    assert str(path) in row["reason"] and "is damaged" in row["reason"]
    flip(path, WITHIN_THE_FIRST_PAGE)
    assert run_trial(checked, log=tmp_path / "log", timeout_s=600).columns["status"] == "ok"


def test_a_trial_does_not_repeat_the_checks_of_the_run(checked, tmp_path):
    """A checksum that is wrong shows it."""
    wrong = replace(checked.dataset.streams[0], file_sha256="1" * 64)
    streams = (wrong, *checked.dataset.streams[1:])
    spec = msgspec.structs.replace(checked, dataset=replace(checked.dataset, streams=streams))
    assert run_trial(spec, log=tmp_path / "log", timeout_s=600).columns["status"] == "ok"
    wrong.path.touch()
    row = run_trial(spec, log=tmp_path / "log", timeout_s=600).columns
    assert row["status"] == "invalid"


def test_stamps_and_checksums_survive_a_trials_specification(checked, tmp_path):
    write_job(checked, tmp_path / "spec.json")
    read = read_job(tmp_path / "spec.json").dataset
    assert read == checked.dataset
    assert [s.stamp for s in read.streams] == [s.stamp for s in checked.dataset.streams]


def run_verify(capsys, *arguments: str) -> tuple[int, list[str], str]:
    code = call(["data", "verify", *arguments])
    printed = capsys.readouterr()
    return code, printed.out.splitlines(), printed.err


def test_verify_reports_intact_and_damaged_entries(capsys, dataset):
    catalog = Catalog.default()
    folder = catalog.folder(dataset)
    assert run_verify(capsys)[:2] == (EXIT_OK, [f"{folder.name}  whole"])
    streams = catalog.get(dataset).streams
    for stream in streams[:2]:
        flip(stream.path, WITHIN_THE_FIRST_PAGE)
    for arguments in ([], [dataset[:6]]):
        code, out, err = run_verify(capsys, *arguments)
        assert code == EXIT_USER_ERROR
        assert out[0] == f"{folder.name}  DAMAGED"
        assert all(str(stream.path) in out[1 + place] for place, stream in enumerate(streams[:2]))
        assert len(out) == 3 and "1 datasets" in err and "1 damaged" in err
    assert run_verify(capsys, "abcdef")[0] == EXIT_USER_ERROR


def test_verify_of_an_empty_catalogue_is_well(capsys, tmp_path: Path):
    assert run_verify(capsys, "--root", str(tmp_path / "none"))[:2] == (EXIT_OK, [])
