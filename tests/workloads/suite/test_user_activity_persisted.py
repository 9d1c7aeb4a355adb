"""Query II keeps its intermediate results in a database."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.duckdb.adapter import DuckdbEngine
from streamlab.engines.registry import engine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import EngineTrial
from streamlab.workloads.inputs.ads.databases.duckdb import Database, config
from streamlab.workloads.inputs.ads.databases.store import database_path
from streamlab.workloads.model import Input, ModelError, Workload
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.user_activity.persist import TABLE
from tests.engines.separate_environment import requires_environment
from tests.workloads.suite.ads_queries import FORMS
from tests.workloads.suite.streams import agreed, generated, rows

SYSTEMS = ["sqlite", pytest.param("duckdb", marks=requires_environment(DuckdbEngine))]


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder, in which the database is."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def persisting(form: str, system: str) -> Workload:
    return workload("user_activity").bound({"form": form, "persist": system})


def kept(system: str) -> list[tuple[int, ...]]:
    """Return what is kept, by user; of DuckDB one by one, while this process has it open."""
    path = database_path(TABLE, system)
    columns = '"ts", "user", "views", "clicks", "purchases"'
    if system == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            return database.execute(f'SELECT {columns} FROM {TABLE} ORDER BY "user"').fetchall()
    with Database(path, config(access_mode="READ_ONLY")) as opened:
        (count,) = opened.execute(f"SELECT count(*) FROM {TABLE}")
        by_user = f'SELECT {columns} FROM {TABLE} ORDER BY "user" LIMIT 1 OFFSET '
        return [opened.execute(by_user + str(row)) for row in range(count)]


def last_of_each(found: Workload, data: Input) -> list[tuple[int, ...]]:
    """Return the last counts of each user, by user."""
    last = {row[1]: row for row in sorted(rows(found, found.oracle(data)))}
    return [last[user] for user in sorted(last)]


@pytest.mark.some(2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_kept_is_what_was_given_last_of_each_user(system: str, form: str):
    found = persisting(form, system)
    data = generated(found, {"rate": 100, "users": 50}, 2500, seed=5)
    agreed(found, data)
    assert kept(system) == last_of_each(found, data)
    assert len(kept(system)) == 50


@pytest.mark.parametrize(("form", "variant"), [("handcrafted", "vsn"), ("typed", "dataflow")])
@pytest.mark.parametrize(
    "system",
    [
        "sqlite",
        pytest.param("duckdb", marks=[requires_environment(DuckdbEngine), pytest.mark.full]),
    ],
)
def test_compiled_functions_of_several_workers_keep_it(
    system: str, form: str, variant: str, tmp_path: Path
):
    found = persisting(form, system)
    setting = Setting(variant=variant, workers=3)
    result = run_case(engine("multicore"), found, CASES[0], setting, tmp_path)
    assert (result.unsupported, result.problems) == (None, ())
    assert kept(system) == last_of_each(found, ordinary_input(found))


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


@pytest.mark.parametrize("system", SYSTEMS)
def test_making_a_program_leaves_what_the_last_run_kept(system: str):
    path = database_path(TABLE, system)
    path.parent.mkdir(parents=True)
    path.write_text("what another process has kept")
    persisting("typed", system)
    assert path.read_text() == "what another process has kept"


@pytest.mark.parametrize("system", SYSTEMS)
def test_counts_that_cannot_be_kept_are_missing_in_the_answer(system: str):
    found = persisting("typed", system)
    data = generated(found, {"rate": 100, "users": 50}, 500, seed=5)
    database_path(TABLE, system).mkdir(parents=True)  # no file can be there
    assert len(answer_of(found.program, data)["ts"]) == 0
    assert len(found.oracle(data)["ts"]) > 0


def test_a_folder_that_cannot_be_written_is_refused(root: Path):
    root.rmdir()
    root.write_text("a file where the temporary folder is to be")
    with pytest.raises(ModelError, match=r"cannot be made: .* give query parameter persist=none"):
        persisting("typed", "sqlite")
