"""A workload is found by name, by module and by file; what is wrong with one is said with place."""

import importlib
import sys
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.model import ModelError
from streamlab.workloads.registry import names, workload
from tests.workloads.user_workload import OWN, user_file


def announce(folder: Path, package: str, **workloads: str) -> None:
    """Write what an installed package's record says."""
    record = folder / f"{package}-1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in workloads.items())
    (record / "entry_points.txt").write_text(f"[lab.workloads]\n{lines}")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose packages are installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return folder


def refused(reference: str) -> str:
    with pytest.raises(ModelError) as error:
        workload(reference)
    return str(error.value)


def test_our_own_workloads_are_those_that_are_announced_and_each_is_called_so():
    folders = {path.parent.name for path in Path("workloads/suite").glob("*/__init__.py")}
    assert set(names()) == folders
    assert all(workload(name).name == name == workload(name).registry_name for name in names())


def test_a_name_that_is_known_is_found_without_a_look_at_all_modules(monkeypatch):
    workload("event_window")
    looked_at = []
    monkeypatch.setattr(
        "streamlab.workloads.module_reload.is_user_module", lambda *module: looked_at.append(module)
    )
    workload("event_window")
    assert looked_at == []


def test_a_file_is_found_by_its_path_and_known_by_its_own_name(tmp_path: Path, monkeypatch):
    path = user_file(tmp_path)
    subject = workload(str(path))
    assert (subject.name, subject.title, subject.reference) == ("mine", "mine", str(path))
    monkeypatch.chdir(tmp_path)
    assert workload("mine.py").reference == str(path)
    other = workload("mine.py:OTHER")
    assert (other.name, other.registry_name) == ("other", f"{path}:OTHER")
    assert workload(other.registry_name).name == "other"


def test_a_module_is_found_in_the_current_folder_and_among_installed_packages(
    tmp_path: Path, site: Path, monkeypatch
):
    user_file(tmp_path, "written_here.py", name="here")
    user_file(site, "installed_there/part.py", name="there")
    monkeypatch.chdir(tmp_path)
    assert workload("written_here:WORKLOAD").name == "here"
    subject = workload("installed_there.part:OTHER")
    assert (subject.name, subject.reference) == ("other", "installed_there.part:OTHER")


def test_a_package_announces_its_workloads_by_name(site: Path):
    user_file(site, "announcing.py", name="announced")
    announce(site, "announcing", announced="announcing:WORKLOAD")
    assert "announced" in names()
    assert workload("announced").registry_name == "announced"
    assert workload("announcing:WORKLOAD").name == "announced"


def test_a_file_shadows_nothing_and_imports_its_neighbours_before_installed_packages(
    tmp_path: Path, site: Path
):
    (site / "beside.py").write_text("WORD = 'installed'\n")
    sys.path[-1:] = [f"{site.parent}/x/site-packages"]
    (site.parent / "x").mkdir()
    site.rename(site.parent / "x" / "site-packages")
    user_file(tmp_path / "mine", "statistics.py", more="import beside, random\nWORD = beside.WORD")
    (tmp_path / "mine" / "beside.py").write_text("WORD = 'neighbour'\n")
    (tmp_path / "mine" / "random.py").write_text("raise RuntimeError('not Python's')\n")
    import statistics

    subject = workload(str(tmp_path / "mine" / "statistics.py"))
    module = next(
        m
        for m in sys.modules.values()
        if getattr(m, "WORKLOAD", None) is not None and getattr(m, "WORD", None)
    )
    assert module.WORD == "neighbour"
    assert subject.name == "mine"
    assert sys.modules["statistics"] is statistics


def test_a_file_is_loaded_once_and_again_when_it_was_edited(tmp_path: Path):
    count = "import sys\nsys.loads = getattr(sys, 'loads', 0) + 1"
    path = user_file(tmp_path, more=count)
    try:
        for _ in range(3):
            workload(str(path))
        assert sys.loads == 1
        user_file(tmp_path, more=count, name="edited")
        assert workload(str(path)).name == "edited"
        assert sys.loads == 2
    finally:
        del sys.loads


@pytest.mark.parametrize(
    ("reference", "importing", "helper"),
    [
        ("mine.py", "from beside import WORD", "beside.py"),
        ("mine:WORKLOAD", "from beside import WORD", "beside.py"),
        ("mine.py", "import within\nWORD = within.beside.WORD", "within/beside.py"),
        (
            "within.mine:WORKLOAD",
            "from within import beside\nWORD = beside.WORD",
            "within/beside.py",
        ),
        ("within.mine:WORKLOAD", "from .beside import WORD", "within/beside.py"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_a_helper_that_was_edited_is_loaded_again(
    tmp_path: Path, monkeypatch, reference: str, importing: str, helper: str, known: bool
):
    name = reference.removesuffix(".py").partition(":")[0]
    path = user_file(tmp_path, f"{name.replace('.', '/')}.py", more=f"{importing}\n")
    path.write_text(path.read_text().replace("name='mine'", "name=WORD"))
    if "within" in helper:
        (tmp_path / "within").mkdir(exist_ok=True)
        (tmp_path / "within" / "__init__.py").write_text("from . import beside\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / helper).write_text("WORD = 'first'\n")
    if known:
        sys.path.append(str(tmp_path))
        importlib.import_module(helper.removesuffix(".py").replace("/", "."))
    assert workload(reference).name == "first"
    (tmp_path / helper).write_text("WORD = 'other'\n")  # of the same size, in the same second
    assert workload(reference).name == "other"
    (tmp_path / helper).write_text("WORD = 'first'\n")
    assert workload(reference).name == "first"


def test_a_folder_without_init_in_a_package_that_was_edited_is_found_again(tmp_path, monkeypatch):
    (tmp_path / "parent" / "folder").mkdir(parents=True)
    (tmp_path / "parent" / "__init__.py").write_text("")
    for name in ("first", "second"):
        (tmp_path / "parent" / "folder" / f"{name}.py").write_text(f"WORD = '{name}'\n")
        path = user_file(tmp_path, f"{name}.py", more=f"from parent.folder.{name} import WORD\n")
        path.write_text(path.read_text().replace("name='mine'", "name=WORD"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert workload("first.py").name == "first"
    (tmp_path / "parent" / "__init__.py").write_text("EDITED = True\n")
    assert workload("second.py").name == "second"


BAD = {
    "no Python": ("def broken(:\n", ["cannot be loaded", "SyntaxError", "mine.py:1"]),
    "raises": ("\nraise RuntimeError('no data')\n", ["RuntimeError: no data", "mine.py:2"]),
    "leaves": ("import sys\nsys.exit('bye')\n", ["SystemExit: bye", "mine.py:2"]),
    "imports": ("import not_there_at_all\n", ["No module named 'not_there_at_all'", "mine.py:1"]),
    "bytes": (b"\xff\xfe\x00", ["cannot be loaded"]),
    "empty": ("", ["mine.py has no attribute 'WORKLOAD'"]),
    "another": ("X = 5\nPROGRAM = 6\n", ["has no attribute 'WORKLOAD'", "; it has X, PROGRAM"]),
    "no workload": ("WORKLOAD = 5\n", ["mine.py is a int, not a Workload", "lab.workload("]),
    "program": (
        "from streamlab.workloads.suite.event_window.program import PROGRAM as WORKLOAD\n",
        ["is a DGSProgram, not a Workload", "lab.workload(PROGRAM, input=...)"],
    ),
    "name": (OWN.format(name="../../x", more=""), ["is called '../../x'", "letters, digits"]),
    "taken": (
        OWN.format(name="wordcount", more=""),
        ["is called 'wordcount'", "package stream-lab", "give it another name"],
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_holds_no_workload_is_refused_with_place_and_remedy(tmp_path: Path, kind: str):
    content, expected = BAD[kind]
    path = tmp_path / "mine.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = refused(str(path))
    assert str(path) in said
    assert all(text in said for text in expected), said


def test_missing_workloads_are_refused_with_a_remedy(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = refused("none.py")
    assert f"{tmp_path / 'none.py'} cannot be read: No such file" in said
    (tmp_path / "folder.py").mkdir()
    assert "folder.py cannot be read: Is a directory" in refused("folder.py")
    assert "module 'nowhere.at.all' cannot be imported" in refused("nowhere.at.all:W")
    assert "'math' has no attribute 'W'" in refused("math:W")
    assert "no workload 'wordcont'; did you mean wordcount?" in refused("wordcont")
    assert "`lab list workloads`" in refused("nothing like that")


def test_a_name_that_two_packages_announce_is_refused_with_both(site: Path):
    user_file(site, "first_of_two.py", name="twice")
    announce(site, "first", twice="first_of_two:WORKLOAD")
    announce(site, "second", twice="second_of_two:WORKLOAD")
    said = refused("twice")
    assert "package first (first_of_two:WORKLOAD)" in said
    assert "package second (second_of_two:WORKLOAD)" in said
    assert "uninstall one of them" in said


def test_a_package_that_fails_leaves_the_others_usable(site: Path, capsys):
    (site / "raising_plug_in.py").write_text("\n\nraise ValueError('bad day')\n")
    announce(site, "raising", raising="raising_plug_in:WORKLOAD", lacking="not_there:WORKLOAD")
    user_file(site, "renamed_plug_in.py", name="renamed")
    announce(site, "renaming", called="renamed_plug_in:WORKLOAD")
    said = refused("raising")
    assert "'raising' of package raising (raising_plug_in:WORKLOAD) cannot be loaded" in said
    assert "ValueError: bad day, in " in said and "raising_plug_in.py:3" in said
    assert "is called 'renamed'" in refused("called")
    assert workload("wordcount").name == "wordcount"
    assert call(["list", "workloads"]) == EXIT_OK
    listed = capsys.readouterr().out
    assert "raising  not usable: " in listed and "lacking  not usable: " in listed
    assert "\nwordcount  How many tweets" in listed
    assert call(["plan", "raising", "--workers", "2"]) == EXIT_USER_ERROR
    assert "bad day" in capsys.readouterr().err


def test_plan_check_and_build_take_all_three_forms(tmp_path: Path, site: Path, capsys, monkeypatch):
    path = user_file(tmp_path)
    user_file(site, "announcing_too.py", name="announced")
    announce(site, "announcing-too", announced="announcing_too:WORKLOAD")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    for reference in ("mine.py", str(path), "mine:WORKLOAD", "announced"):
        assert call(["plan", reference, "--workers", "2"]) == EXIT_OK
        assert "plan for event_window: 2 workers" in capsys.readouterr().out
        assert call(["check", reference, "--examples", "3"]) == EXIT_OK
        assert call(["data", "build", reference, "--events", "1000"]) == EXIT_OK
        assert len(capsys.readouterr().out.splitlines()) > 1
    assert call(["check", "mine.py:PROGRAM", "--examples", "3"]) == EXIT_OK
    assert call(["check", "mine.py:OWN"]) == EXIT_USER_ERROR
    assert "has no attribute 'OWN'" in capsys.readouterr().err


def test_neighbours_of_one_name_in_two_folders_are_not_taken_for_each_other(tmp_path: Path):
    for folder in ("one", "two"):
        user_file(tmp_path / folder, name=folder, more="import rule_of_both\n")
        (tmp_path / folder / "rule_of_both.py").write_text(f"RULE = {folder!r}\n")
    assert workload(str(tmp_path / "one" / "mine.py")).name == "one"
    said = refused(str(tmp_path / "two" / "mine.py"))
    assert "its folder has rule_of_both.py" in said and "one/rule_of_both.py" in said
    assert "rename one of them" in said
