"""Look-ups of queries on ads in databases."""

import ctypes
import functools
import operator
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.duckdb.adapter import DuckdbEngine
from streamlab.engines.registry import engine
from streamlab.workloads.inputs.ads.databases import duckdb, sqlite
from streamlab.workloads.inputs.ads.databases.duckdb import DUCKDB
from streamlab.workloads.inputs.ads.databases.lookup import FOLDER, System, look_up
from streamlab.workloads.inputs.ads.databases.sqlite import SQLITE
from streamlab.workloads.model import Dataflow, ModelError, Pipeline, Query
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import requires_environment
from tests.workloads.suite.ads_queries import FORMS, SMALL
from tests.workloads.suite.streams import agreed, generated

WITH_DUCKDB = requires_environment(DuckdbEngine)
SYSTEMS = [
    pytest.param(SQLITE, id="sqlite"),
    pytest.param(DUCKDB, id="duckdb", marks=WITH_DUCKDB),
]
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


def database(of: System, root: Path) -> Path:
    look_up(of, "ads", TABLE)
    (path,) = (root / FOLDER).glob(f"*.{of.name}")
    return path


@pytest.mark.parametrize("of", SYSTEMS)
def test_an_id_is_looked_up_in_the_database_and_one_that_is_not_there_is_none(
    of: System, root: Path
):
    find = look_up(of, "ads", TABLE)
    assert [find(number) for number in (-1, 0, 1, 2, 3, 4, 2**40)] == LOOKED_UP
    (path,) = (root / FOLDER).glob("*")
    assert path.name.startswith("ads-")
    assert of.count(path) == (len(TABLE), TABLE.sum())


@pytest.mark.parametrize("of", SYSTEMS)
def test_it_is_the_database_that_answers(of: System, root: Path, tmp_path: Path):
    """Values that are changed behind the lab's back, with the same sum, are what is found."""
    path = database(of, root)
    path.unlink()
    changed = np.array([4, 7, 0, 6], dtype=np.int32)
    of.write(path, changed)
    found: list[int] = []
    look = look_up(of, "ads", TABLE) if of is SQLITE else of.find(path.rename(tmp_path / "other"))
    thread = threading.Thread(target=lambda: found.extend(map(look, range(4))))  # has read nothing
    thread.start()
    thread.join()
    assert found == changed.tolist()


@pytest.mark.parametrize("of", SYSTEMS)
def test_a_table_of_many_rows_is_looked_up(of: System):
    table = np.arange(70_000, dtype=np.int32)[::-1].copy()
    find = look_up(of, "ads", table)
    asked = [0, 1, 2047, 2048, 65_535, 65_536, 69_999, 70_000]
    assert [find(number) for number in asked] == [*table[asked[:-1]].tolist(), -1]


@pytest.mark.parametrize("of", SYSTEMS)
def test_threads_have_connections_of_their_own_which_end_with_them(of: System):
    find = look_up(of, "users", TABLE)

    def open_databases() -> int:
        links = list(Path("/proc/self/fd").iterdir())
        return sum(str(link.readlink()).endswith(of.name) for link in links if link.is_symlink())

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

    times = 1000 if of is SQLITE else 40
    assert find_all(8, times) == [TABLE.tolist() * (times // 4)] * 8
    for _ in range(30):
        find_all(1, 4)
    assert open_databases() < 10  # a thread that has been joined may still be at its last steps


@WITH_DUCKDB
def test_duckdb_has_no_threads_of_its_own():
    find = look_up(DUCKDB, "ads", TABLE)
    before = len(list(Path("/proc/self/task").iterdir()))
    assert (find(0), look_up(DUCKDB, "users", TABLE)(1)) == (5, 7)
    assert len(list(Path("/proc/self/task").iterdir())) == before


@pytest.mark.some(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOOKING_UP)
@pytest.mark.parametrize("of", SYSTEMS)
def test_answers_are_the_same_from_a_database(of: System, name: str, form: str):
    found = workload(name).bound({"form": form, "lookup": of.name})
    data = generated(found, {"rate": 100}, 2500, seed=5)
    agreed(found, data)


VARIANTS = {Dataflow: "dataflow", Query: "vsn", Pipeline: "ordered"}


@pytest.mark.some(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOOKING_UP)
@pytest.mark.parametrize("of", SYSTEMS)
def test_compiled_functions_look_up_in_a_database(of: System, name: str, form: str, tmp_path: Path):
    found = workload(name).bound({"form": form, "lookup": of.name})
    setting = Setting(variant=VARIANTS[type(found.program)])
    result = run_case(engine("multicore"), found, CASES[0], setting, tmp_path)
    assert (result.unsupported, result.problems) == (None, ())


@pytest.mark.some(1)
@pytest.mark.parametrize("of", SYSTEMS)
def test_the_code_of_a_program_is_the_same_in_another_process(of: System):
    """A trial compares it with what its run was started with."""
    told = (
        "from streamlab.workloads.registry import workload; "
        f"print(workload('campaign_views').bound({{'lookup': {of.name!r}}}).code(), end='')"
    )
    other = subprocess.run(
        [sys.executable, "-c", told], check=True, capture_output=True, text=True
    ).stdout
    assert workload("campaign_views").bound({"lookup": of.name}).code() == other


@pytest.mark.parametrize("of", SYSTEMS)
def test_a_database_that_is_missing_is_made_again(of: System, root: Path):
    database(of, root).unlink()
    assert database(of, root).is_file()


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("damage", ["text", "truncated", "other", "empty"])
@pytest.mark.parametrize("of", SYSTEMS)
def test_a_damaged_database_is_refused_with_the_remedy(of: System, root: Path, damage: str):
    path = database(of, root)
    content = path.read_bytes()
    path.unlink()
    if damage == "text":
        path.write_text("no database\n" * 100)
    elif damage == "truncated":
        path.write_bytes(content[:4096])
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        of.write(path, TABLE + np.int32(1))
    refused = rf"^database \S+/ads-\w+\.{of.name} (is|cannot) [^\n]*; remove .*, and the lab makes it anew$"
    with pytest.raises(ModelError, match=refused):
        look_up(of, "ads", TABLE)


@WITH_DUCKDB
@pytest.mark.parametrize("version", [1, 1000])
def test_a_file_of_another_version_of_duckdb_is_refused(root: Path, version: int):
    path = database(DUCKDB, root)
    content = path.read_bytes()
    path.unlink()
    header = content[8:12] + version.to_bytes(8, "little") + content[20:4096]
    words = np.frombuffer(header, dtype=np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    checksum = functools.reduce(operator.xor, words.tolist(), 5381)  # as DuckDB computes it
    path.write_bytes(checksum.to_bytes(8, "little") + header + content[4096:])
    with pytest.raises(
        ModelError, match=rf"version number {version}, .*; remove .* makes it anew$"
    ):
        look_up(DUCKDB, "ads", TABLE)


def test_a_locked_sqlite_database_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite, "_LOCK_S", 0.0)
    other = sqlite3.connect(database(SQLITE, root), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(ModelError, match=r"sqlite is locked: another process writes to it"):
            look_up(SQLITE, "ads", TABLE)
    finally:
        other.close()


@WITH_DUCKDB
def test_a_locked_duckdb_database_is_refused(root: Path):
    path = database(DUCKDB, root)
    path.unlink()  # the one that this process has open, to read
    DUCKDB.write(path, TABLE)
    hold = (
        "from pathlib import Path; from streamlab.workloads.inputs.ads.databases import duckdb\n"
        f"with duckdb.Database(Path({str(path)!r}), duckdb.config()): print(flush=True), input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        with pytest.raises(ModelError, match=r"duckdb is locked: another process writes to it"):
            look_up(DUCKDB, "ads", TABLE)
        other.communicate(b"\n")


@pytest.mark.parametrize("of", SYSTEMS)
def test_a_folder_that_cannot_be_written_is_told(of: System, root: Path):
    root.parent.mkdir(exist_ok=True)
    root.write_text("a file where the catalogue is to be")
    with pytest.raises(ModelError, match=r"cannot be made: .* give query parameter lookup=memory"):
        look_up(of, "ads", TABLE)


@pytest.fixture
def forgotten():
    """Libraries that have been found are looked for again."""

    def forget() -> None:
        for system, lookup in ((sqlite, SQLITE), (duckdb, DUCKDB)):
            system.library.cache_clear()
            lookup.find.cache_clear()  # type: ignore[attr-defined]  # of lru_cache

    forget()
    yield
    forget()


@pytest.mark.usefixtures("forgotten")
def test_a_machine_without_the_library_of_sqlite_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(ModelError, match="library is not installed"):
        look_up(SQLITE, "ads", TABLE)


@pytest.mark.usefixtures("forgotten")
def test_without_the_environment_of_duckdb_its_command_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAB_ENGINES", str(tmp_path))
    told = r"duckdb is not made; `lab environment duckdb` .* makes it; or give .* lookup=memory"
    with pytest.raises(ModelError, match=told):
        look_up(DUCKDB, "ads", TABLE)
    (tmp_path / "duckdb").mkdir()
    (tmp_path / "duckdb" / ".made").write_text("for another Python")
    with pytest.raises(ModelError, match=r"has no _duckdb\..*\.so; `lab environment duckdb`"):
        look_up(DUCKDB, "ads", TABLE)


@WITH_DUCKDB
def test_it_is_the_version_that_the_engine_is_pinned_to():
    version = duckdb.library()["duckdb_library_version"]
    version.restype = ctypes.c_char_p
    assert DuckdbEngine.environment is not None
    pinned = DuckdbEngine.environment.lock.read_text(encoding="utf-8").split()
    assert f"duckdb=={version().decode().removeprefix('v')}" in pinned
