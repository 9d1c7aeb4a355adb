"""What `lab new` writes passes as it is, and nothing that is there is lost."""

from importlib.metadata import distributions

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.gate.projects import find_projects
from streamlab.lab.gate.repository import write_entry_points
from streamlab.lab.host.git import git
from tests.examples_folder import install
from tests.processes import run_python

FULL = pytest.mark.full
FINDER = "ignore:Module already imported so cannot be rewritten; _editable"


@pytest.mark.parametrize(
    ("what", "tests", "by_pip"),
    [
        pytest.param(["engine"], 1, True, id="batch engine"),
        # Its pyproject.toml is that of the other engine.
        pytest.param(["engine", "--streaming"], 1, False, id="streaming engine", marks=FULL),
        pytest.param(["workload"], 3, False, id="workload"),
        pytest.param(["workload"], 3, True, id="workload by pip", marks=FULL),
    ],
)
def test_a_package_passes_its_own_tests_as_it_is_written(what, tests, by_pip, tmp_path, capsys):
    assert call(["new", *what, "my-own", "--in", str(tmp_path)]) == EXIT_OK
    package = tmp_path / "my-own"
    assert f"pip install -e {package}" in capsys.readouterr().out
    for check in (["check"], ["format", "--check"]):
        linted = run_python("-m", "ruff", *check, "--isolated", "--line-length=100", cwd=package)
        assert linted.returncode == 0, linted.stdout
    site = tmp_path / "site"
    if by_pip:
        install(package, site)
    else:
        write_entry_points(package, site := package)
    done = run_python(
        *("-m", "pytest", "-q", "-W", "error", "-W", FINDER),
        *("--basetemp", tmp_path / "session", package),
        environ={"PYTHONPATH": str(site)},
    )
    assert f"{tests} passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("what", ["engine", "workload"])
def test_what_builds_and_tests_leave_in_a_package_is_not_committed(what, tmp_path, capsys):
    assert call(["new", what, "my-own", "--in", str(tmp_path)]) == EXIT_OK
    package = tmp_path / "my-own"
    git(package, "init", "-q")
    git(package, "add", "--all")
    names = git(package, "ls-files")
    assert {".gitignore", "my_own/__init__.py", "tests/test_my_own.py"} <= {*names.split()}
    for name in (
        "build/lib/my_own/__init__.py",
        "dist/my_own-0.1.0.tar.gz",
        "my_own.egg-info/PKG-INFO",
        "my_own/__pycache__/__init__.cpython-311.pyc",
        ".pytest_cache/README.md",
        ".venv/pyvenv.cfg",
    ):
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text("")
    git(package, "add", "--all")
    assert git(package, "ls-files") == names


def test_a_byte_order_mark_in_a_pyproject_is_read_over(tmp_path, capsys):
    assert call(["new", "engine", "my-own", "--in", str(tmp_path)]) == EXIT_OK
    package, site = tmp_path / "my-own", tmp_path / "site"
    site.mkdir()
    file = package / "pyproject.toml"
    file.write_text("\ufeff" + file.read_text())
    write_entry_points(package, site)
    (found,) = distributions(path=[str(site)])
    assert [point.name for point in found.entry_points] == ["my-own"]
    git(package, "init", "-q")
    git(package, "add", "--all")
    assert find_projects(package) == {"my-own"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My Engine", "is not a valid package name"),
        ("../up", "is not a valid package name"),
        ("class", "is not a valid package name"),
        ("json", "would hide the installed module 'json'"),
        ("reference", "engine 'reference' exists already"),
        ("numpy", "would hide the installed module 'numpy'"),
    ],
)
def test_a_name_that_cannot_be_is_refused(name, said, tmp_path, capsys):
    assert call(["new", "engine", name, "--in", str(tmp_path)]) == EXIT_USER_ERROR
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_is_there_is_overwritten(tmp_path, capsys):
    (tmp_path / "my-own").mkdir()
    (tmp_path / "my-own" / "thesis.txt").write_text("years of work")
    assert call(["new", "engine", "my-own", "--in", str(tmp_path)]) == EXIT_USER_ERROR
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "my-own").iterdir()] == ["thesis.txt"]
