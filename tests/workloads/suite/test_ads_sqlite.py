"""Look-ups of queries on ads in a SQLite database."""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from engines.conformance import CASES, Setting, run_case
from engines.registry import engine
from tests.workloads.suite.streams import generated
from tests.workloads.suite.test_ads import FORMS, SMALL, answer
from workloads.inputs.ads.sqlite_lookup import FOLDER, sqlite_lookup
from workloads.model import Dataflow, ModelError, Pipeline, Query
from workloads.model.trace import compare
from workloads.registry import workload

TRIED_ALWAYS = ("ad_enrichment", "campaign_views")
LOOKING_UP = [
    pytest.param(name, marks=() if name in TRIED_ALWAYS else pytest.mark.full)
    for name in SMALL
    if name != "user_activity"
]
TABLE = np.array([5, 7, 0, 5], dtype=np.int32)
LOOKED_UP = [-1, 5, 7, 0, 5, -1, -1]


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue, in which databases are."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def made(root: Path) -> Path:
    sqlite_lookup("ads", TABLE)
    (path,) = (root / FOLDER).glob("*")
    return path


def test_an_id_is_looked_up_in_the_database_and_one_that_is_not_there_is_none(root: Path):
    find = sqlite_lookup("ads", TABLE)
    assert [find(of) for of in (-1, 0, 1, 2, 3, 4, 2**40)] == LOOKED_UP
    (path,) = (root / FOLDER).glob("*")
    assert path.name.startswith("ads-")
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, value FROM lookup ORDER BY id").fetchall()
    database.close()
    assert rows == list(enumerate(TABLE.tolist()))


def test_it_is_the_database_that_answers(root: Path):
    """A value that is changed behind the lab's back, with the same sum, is what is found."""
    path = made(root)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE lookup SET value = 4 WHERE id = 0")
        database.execute("UPDATE lookup SET value = 6 WHERE id = 3")
    database.close()
    found: list[int] = []
    thread = threading.Thread(  # has read nothing yet
        target=lambda: found.extend(map(sqlite_lookup("ads", TABLE), range(4)))
    )
    thread.start()
    thread.join()
    assert found == [4, 7, 0, 6]


def test_threads_have_connections_of_their_own_which_end_with_them():
    find = sqlite_lookup("users", TABLE)

    def open_databases() -> int:
        links = list(Path("/proc/self/fd").iterdir())
        return sum(str(link.readlink()).endswith(".sqlite") for link in links if link.is_symlink())

    def look_up(count: int) -> list[list[int]]:
        found: list[list[int]] = []
        threads = [
            threading.Thread(target=lambda: found.append([find(of % 4) for of in range(1000)]))
            for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    assert look_up(8) == [TABLE.tolist() * 250] * 8
    for _ in range(30):
        look_up(1)
    assert open_databases() < 10  # a thread that has been joined may still be at its last steps


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOOKING_UP)
def test_answers_are_the_same_from_a_database(name: str, form: str):
    found = workload(name).bound({"form": form, "lookup": "sqlite"})
    data = generated(found, {"rate": 100}, 2500, seed=5)
    difference = compare(found.oracle(data), answer(found, data), found.output)
    assert difference.equal, difference.render()


VARIANTS = {Dataflow: "dataflow", Query: "vsn", Pipeline: "ordered"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOOKING_UP)
def test_compiled_functions_look_up_in_a_database(name: str, form: str, tmp_path: Path):
    found = workload(name).bound({"form": form, "lookup": "sqlite"})
    setting = Setting(variant=VARIANTS[type(found.program)])
    result = run_case(engine("multicore"), found, CASES[0], setting, tmp_path)
    assert (result.unsupported, result.problems) == (None, ())


def test_the_code_of_a_program_is_the_same_in_another_process(root: Path):
    """A trial compares it with what its run was started with."""
    told = (
        "from workloads.registry import workload; "
        "print(workload('campaign_views').bound({'lookup': 'sqlite'}).code(), end='')"
    )
    other = subprocess.run(
        [sys.executable, "-c", told], check=True, capture_output=True, text=True
    ).stdout
    assert workload("campaign_views").bound({"lookup": "sqlite"}).code() == other


def bound(**query: object) -> None:
    workload("campaign_views").bound({"ads": 4, "campaigns": 3, **query})


def test_a_place_that_there_is_not_is_refused():
    with pytest.raises(ModelError, match="lookup is 'duckdb'; give memory or sqlite"):
        bound(lookup="duckdb")


def test_a_database_that_is_missing_is_made_again(root: Path):
    made(root).unlink()
    assert made(root).is_file()


@pytest.mark.parametrize("damage", ["text", "truncated", "other", "empty"])
def test_a_damaged_database_is_refused_with_the_remedy(root: Path, damage: str):
    path = made(root)
    if damage == "text":
        path.write_text("no database\n" * 100)
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:4096])
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        with sqlite3.connect(path) as database:
            database.execute("UPDATE lookup SET value = value + 1")
        database.close()
    with pytest.raises(ModelError, match=r"ads-.*\.sqlite .*; remove .*, and it is made anew"):
        sqlite_lookup("ads", TABLE)


def test_a_locked_database_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workloads.inputs.ads.sqlite_lookup._LOCK_S", 0.0)
    database = sqlite3.connect(made(root), isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(ModelError, match=r"sqlite is locked: another process writes to it"):
            sqlite_lookup("ads", TABLE)
    finally:
        database.close()


def test_a_folder_that_cannot_be_written_is_told(root: Path):
    root.parent.mkdir(exist_ok=True)
    root.write_text("a file where the catalogue is to be")
    with pytest.raises(ModelError, match=r"cannot be made: .* give query parameter lookup=memory"):
        sqlite_lookup("ads", TABLE)


def test_a_machine_without_the_library_is_told(monkeypatch: pytest.MonkeyPatch):
    from workloads.inputs.ads import sqlite
    from workloads.inputs.ads import sqlite_lookup as module

    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    sqlite.library.cache_clear()
    module._function.cache_clear()
    with pytest.raises(ModelError, match="no library of SQLite on this machine"):
        sqlite_lookup("ads", TABLE)
