"""The lab owns one import name, `streamlab`: a user's packages may have the names of its folders."""

import ast
import sys

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
def test_the_lab_is_imported_beside_packages_with_the_names_of_its_folders(command, tmp_path):
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


def test_no_module_imports_a_folder_of_the_lab_by_its_bare_name():
    wrong = []
    for folder in (*NAMES, "streamlab", "tests", "benchmarks", "tools", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "templates" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                wrong += [
                    f"{path}:{name}" for name in names if str(name).partition(".")[0] in NAMES
                ]
    assert wrong == []
