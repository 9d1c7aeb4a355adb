"""Query II keeps its intermediate results in a SQLite database."""

import sqlite3
from pathlib import Path

import pytest

from engines.conformance import CASES, Setting, ordinary_input, run_case
from engines.registry import engine
from tests.workloads.suite.streams import generated, rows
from tests.workloads.suite.test_ads import FORMS, answer
from workloads.inputs.ads.sqlite_store import stored
from workloads.model import Input, ModelError, Workload
from workloads.model.trace import compare
from workloads.registry import workload
from workloads.suite.user_activity.persist import TABLE


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue, in which the database is."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def persisting(form: str) -> Workload:
    return workload("user_activity").bound({"form": form, "persist": "sqlite"})


def kept() -> list[tuple[int, ...]]:
    database = sqlite3.connect(stored(TABLE))
    try:
        found = database.execute(
            f"SELECT ts, user, views, clicks, purchases FROM {TABLE} ORDER BY user"
        )
        return found.fetchall()
    finally:
        database.close()


def last_of_each(found: Workload, data: Input) -> list[tuple[int, ...]]:
    """Return the last counts of each user, by user."""
    last = {row[1]: row for row in sorted(rows(found, found.oracle(data)))}
    return [last[user] for user in sorted(last)]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_kept_is_what_was_given_last_of_each_user(form: str):
    found = persisting(form)
    data = generated(found, {"rate": 100, "users": 50}, 2500, seed=5)
    difference = compare(found.oracle(data), answer(found, data), found.output)
    assert difference.equal, difference.render()
    assert kept() == last_of_each(found, data)
    assert len(kept()) == 50


@pytest.mark.parametrize(("form", "variant"), [("handcrafted", "vsn"), ("typed", "dataflow")])
def test_compiled_functions_of_several_workers_keep_it(form: str, variant: str, tmp_path: Path):
    found = persisting(form)
    setting = Setting(variant=variant, workers=3)
    result = run_case(engine("multicore"), found, CASES[0], setting, tmp_path)
    assert (result.unsupported, result.problems) == (None, ())
    assert kept() == last_of_each(found, ordinary_input(found))


def test_making_a_program_leaves_what_the_last_run_kept(root: Path):
    path = stored(TABLE)
    path.parent.mkdir(parents=True)
    path.write_text("what another process has kept")
    persisting("typed")
    assert path.read_text() == "what another process has kept"


def test_counts_that_cannot_be_kept_are_missing_in_the_answer(root: Path):
    found = persisting("typed")
    data = generated(found, {"rate": 100, "users": 50}, 500, seed=5)
    stored(TABLE).mkdir()  # no file can be there
    assert len(answer(found, data)["ts"]) == 0
    assert len(found.oracle(data)["ts"]) > 0


def test_a_place_that_there_is_not_is_refused(root: Path):
    with pytest.raises(ModelError, match="persist is 'duckdb'; give none or sqlite"):
        workload("user_activity").bound({"persist": "duckdb"})
    root.write_text("a file where the catalogue is to be")
    with pytest.raises(ModelError, match=r"cannot be made, .* give query parameter persist=none"):
        persisting("typed")
