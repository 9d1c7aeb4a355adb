"""Look-ups of queries on ads in a database."""

import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.registry import engine
from streamlab.workloads.inputs.ads.databases import lookup
from streamlab.workloads.inputs.ads.databases.lookup import FOLDER, look_up
from streamlab.workloads.model import Dataflow, ModelError, Pipeline, Query
from streamlab.workloads.registry import workload
from tests.processes import run_python
from tests.workloads.suite.ads_queries import FORMS, SMALL
from tests.workloads.suite.streams import agreed, generated

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


def database(root: Path) -> Path:
    look_up("ads", TABLE)
    (path,) = (root / FOLDER).glob("*.sqlite")
    return path


def test_an_id_is_looked_up_in_the_database_and_an_absent_one_is_none(root: Path):
    find = look_up("ads", TABLE)
    assert [find(number) for number in (-1, 0, 1, 2, 3, 4, 2**40)] == LOOKED_UP
    (path,) = (root / FOLDER).glob("*")
    assert path.name.startswith("ads-")
    assert lookup.count(path) == (len(TABLE), TABLE.sum())


def test_it_is_the_database_that_answers(root: Path):
    """Values that are changed behind the lab's back, with the same sum, are what is found."""
    path = database(root)
    path.unlink()
    changed = np.array([4, 7, 0, 6], dtype=np.int32)
    lookup.write(path, changed)
    found: list[int] = []
    look = look_up("ads", TABLE)
    thread = threading.Thread(target=lambda: found.extend(map(look, range(4))))  # has read nothing
    thread.start()
    thread.join()
    assert found == changed.tolist()


def test_a_table_of_many_rows_is_looked_up():
    table = np.arange(70_000, dtype=np.int32)[::-1].copy()
    find = look_up("ads", table)
    asked = [0, 1, 2047, 2048, 65_535, 65_536, 69_999, 70_000]
    assert [find(number) for number in asked] == [*table[asked[:-1]].tolist(), -1]


def test_threads_have_connections_of_their_own_which_end_with_them():
    find = look_up("users", TABLE)

    def open_databases() -> int:
        links = list(Path("/proc/self/fd").iterdir())
        return sum(str(link.readlink()).endswith("sqlite") for link in links if link.is_symlink())

    def find_all(count: int, times: int) -> list[list[int]]:
        found: list[list[int]] = []
        threads = [
            threading.Thread(target=lambda: found.append([find(i % 4) for i in range(times)]))
            for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    assert find_all(8, 1000) == [TABLE.tolist() * 250] * 8
    for _ in range(30):
        find_all(1, 4)
    assert open_databases() < 10  # a thread that has been joined may still be at its last steps


@pytest.mark.some(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOOKING_UP)
def test_answers_are_the_same_from_a_database(name: str, form: str):
    subject = workload(name).bound({"form": form, "lookup": "sqlite"})
    data = generated(subject, {"rate": 100}, 2500, seed=5)
    agreed(subject, data)


VARIANTS = {Dataflow: "dataflow", Query: "vsn", Pipeline: "ordered"}


@pytest.mark.some(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOOKING_UP)
def test_compiled_functions_look_up_in_a_database(name: str, form: str, tmp_path: Path):
    subject = workload(name).bound({"form": form, "lookup": "sqlite"})
    setting = Setting(variant=VARIANTS[type(subject.program)])
    result = run_case(engine("multicore"), subject, CASES[0], setting, tmp_path)
    assert (result.unsupported, result.problems) == (None, ())


def test_the_code_of_a_program_is_the_same_in_another_process():
    """A trial compares it with what its run was started with."""
    told = (
        "from streamlab.workloads.registry import workload; "
        "print(workload('campaign_views').bound({'lookup': 'sqlite'}).code(), end='')"
    )
    other = run_python("-c", told, check=True).stdout
    assert workload("campaign_views").bound({"lookup": "sqlite"}).code() == other


def test_a_database_that_is_missing_is_made_again(root: Path):
    database(root).unlink()
    assert database(root).is_file()


@pytest.mark.parametrize("damage", ["text", "truncated", "other", "empty"])
def test_a_damaged_database_is_refused_with_the_remedy(root: Path, damage: str):
    path = database(root)
    content = path.read_bytes()
    path.unlink()
    if damage == "text":
        path.write_text("no database\n" * 100)
    elif damage == "truncated":
        path.write_bytes(content[:4096])
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        lookup.write(path, TABLE + np.int32(1))
    refused = (
        r"^database \S+/ads-\w+\.sqlite (is|cannot) [^\n]*; remove .*, and the lab makes it anew$"
    )
    with pytest.raises(ModelError, match=refused):
        look_up("ads", TABLE)


def test_a_locked_sqlite_database_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lookup, "_LOCK_S", 0.0)
    other = sqlite3.connect(database(root), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(ModelError, match=r"sqlite is locked: another process writes to it"):
            look_up("ads", TABLE)
    finally:
        other.close()


def test_a_folder_that_cannot_be_written_is_reported(root: Path):
    root.parent.mkdir(exist_ok=True)
    root.write_text("a file where the catalogue is to be")
    with pytest.raises(ModelError, match=r"cannot be made: .* give query parameter lookup=memory"):
        look_up("ads", TABLE)


@pytest.fixture
def forgotten():
    """A library that has been found is looked for again."""
    for known in (lookup.library, lookup._find):
        known.cache_clear()
    yield
    for known in (lookup.library, lookup._find):
        known.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_a_missing_library_of_sqlite_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(ModelError, match="library is not installed"):
        look_up("ads", TABLE)
