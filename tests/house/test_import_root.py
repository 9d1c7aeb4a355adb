"""The lab owns one import name, `streamlab`: a user's packages may have the names of its folders."""

import ast
import sys
from pathlib import Path

import pytest

from tests.examples_folder import EXAMPLES, sensors
from tests.house.users_packages import CHECK, IMPORTS, NAMES, run, write_packages

ROOT = EXAMPLES.parent


@pytest.mark.parametrize(
    "command",
    [
        ("script.py",),
        ("-c", CHECK),
        ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_names.py"),
    ],
    ids=["script", "current folder", "pytest"],
)
def test_the_lab_can_be_imported_next_to_packages_with_the_names_of_its_folders(command, tmp_path):
    write_packages(tmp_path)
    done = run(sys.executable, *command, folder=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_trial_imports_the_users_packages_and_not_the_labs_folders(tmp_path):
    write_packages(tmp_path)
    program = sensors(tmp_path, rows=300)
    program.write_text(IMPORTS + program.read_text())
    run_lab = (sys.executable, "-m", "streamlab", "run", "sensors.py", "--engine", "reference")
    done = run(*run_lab, "--out", "runs", folder=tmp_path)
    assert done.returncode == 0, done.stdout


def imports_below(*folders):
    """Yield each file of these folders with each module, or name of a module, that it imports."""
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        if "templates" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield from ((path, f"{node.module}.{alias.name}") for alias in node.names)


def test_no_module_imports_a_folder_of_the_lab_by_its_bare_name():
    folders = (*NAMES, "streamlab", "tests", "benchmarks", "tools", "examples")
    wrong = [
        f"{path}: {name}"
        for path, name in imports_below(*folders)
        if name.partition(".")[0] in NAMES
    ]
    assert wrong == []


def test_no_test_file_is_imported_by_another():
    """What several need is in a helper module of their folder: `tests/<area>/<noun>.py`."""
    wrong = [
        f"{path}: {name}"
        for path, name in imports_below("tests")
        if name.startswith("tests.")
        and any((ROOT / part).is_file() for part in files_of_tests(name))
    ]
    assert wrong == []


def files_of_tests(name):
    """Return the test files that a dotted name may stand for: it may end with a name in one."""
    parts = name.split(".")
    return [
        Path(*parts[:end]).with_suffix(".py")
        for end in (len(parts), len(parts) - 1)
        if parts[end - 1].startswith("test_")
    ]
