"""Query II keeps its intermediate results in a database."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.registry import engine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import EngineTrial
from streamlab.workloads.inputs.ads.databases.store import database_path
from streamlab.workloads.model import Input, ModelError, Workload
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.user_activity.persist import TABLE
from tests.workloads.suite.ads_queries import FORMS
from tests.workloads.suite.streams import agreed, generated, rows


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder, in which the database is."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def persisting(form: str) -> Workload:
    return workload("user_activity").bound({"form": form, "persist": "sqlite"})


def kept() -> list[tuple[int, ...]]:
    """Return what is kept, by user."""
    columns = '"ts", "user", "views", "clicks", "purchases"'
    with closing(sqlite3.connect(database_path(TABLE))) as database:
        return database.execute(f'SELECT {columns} FROM {TABLE} ORDER BY "user"').fetchall()


def last_of_each(found: Workload, data: Input) -> list[tuple[int, ...]]:
    """Return the last counts of each user, by user."""
    last = {row[1]: row for row in sorted(rows(found, found.oracle(data)))}
    return [last[user] for user in sorted(last)]


@pytest.mark.parametrize("form", FORMS)
def test_the_stored_counts_are_the_last_outputs_of_each_user(form: str):
    found = persisting(form)
    data = generated(found, {"rate": 100, "users": 50}, 2500, seed=5)
    agreed(found, data)
    assert kept() == last_of_each(found, data)
    assert len(kept()) == 50


@pytest.mark.parametrize(("form", "variant"), [("handcrafted", "vsn"), ("typed", "dataflow")])
def test_compiled_functions_of_several_workers_keep_it(form: str, variant: str, tmp_path: Path):
    found = persisting(form)
    setting = Setting(variant=variant, workers=3)
    result = run_case(engine("multicore"), found, CASES[0], setting, tmp_path)
    assert (result.unsupported, result.problems) == (None, ())
    assert kept() == last_of_each(found, ordinary_input(found))


def test_a_trial_which_may_write_to_its_temporary_folder_only_stores_all_counts(tmp_path: Path):
    data = ordinary_input(workload("user_activity"))
    trial = EngineTrial(
        engine="multicore",
        variant="dataflow",
        workers=1,
        batch=64,
        options={},
        query={"persist": "sqlite"},
        dataset=write_dataset(data, "user_activity", tmp_path / "data"),
    )
    ended = run_trial(trial, log=tmp_path / "log", timeout_s=120)
    assert (ended.columns["status"], ended.columns.get("reason")) == ("ok", None)


def test_making_a_program_leaves_the_stored_counts_of_the_last_run():
    path = database_path(TABLE)
    path.parent.mkdir(parents=True)
    path.write_text("what another process has kept")
    persisting("typed")
    assert path.read_text() == "what another process has kept"


def test_counts_that_cannot_be_stored_are_missing_in_the_answer():
    found = persisting("typed")
    data = generated(found, {"rate": 100, "users": 50}, 500, seed=5)
    database_path(TABLE).mkdir(parents=True)  # no file can be there
    assert len(answer_of(found.program, data)["ts"]) == 0
    assert len(found.oracle(data)["ts"]) > 0


def test_a_folder_that_cannot_be_written_is_refused(root: Path):
    root.rmdir()
    root.write_text("a file where the temporary folder is to be")
    with pytest.raises(ModelError, match=r"cannot be made: .* give query parameter persist=none"):
        persisting("typed")
