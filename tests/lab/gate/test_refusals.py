"""Errors of `lab gate --against` before it builds anything, each with exit code 2."""

import shutil
import sys
from pathlib import Path

import pytest

from streamlab.engines.registry import names
from streamlab.lab.cli import EXIT_USER_ERROR, call
from streamlab.lab.gate.code_location import check_built_packages
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.workloads.registry import names as workload_names

ROOT = Path(__file__).parents[3]

ENGINE = """
from streamlab.engines.fake.adapter import FakeEngine

class OutsideEngine(FakeEngine):
    name = "outside"
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Install a user's engine in the environment of the lab; return the path of its module."""
    module = tmp_path / "installed" / "outside_engine.py"
    facts = tmp_path / "installed" / "outside-1.0.dist-info"
    facts.mkdir(parents=True)
    module.write_text(ENGINE)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[lab.engines]\noutside = outside_engine:OutsideEngine\n"
    )
    monkeypatch.syspath_prepend(module.parent)
    yield module
    sys.modules.pop("outside_engine", None)


@pytest.fixture
def checked_out():
    """This checkout, in which nothing is built."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there are no revisions to build")
    return ROOT


def matrix(tmp_path, engine) -> Path:
    path = tmp_path / "m.toml"
    path.write_text(
        f'[[workload]]\nname = "event_window"\nevents = 1000\n[[engine]]\nname = "{engine}"\n'
    )
    return path


def test_an_engine_that_no_revision_holds_is_refused(
    outside, checked_out, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    code = call(["gate", "--against", "HEAD", str(matrix(tmp_path, "outside"))])
    err = capsys.readouterr().err
    assert code == EXIT_USER_ERROR
    assert f"engine 'outside' is in {outside}, outside the packages built" in err
    assert "lab compare RUN_A RUN_B" in err
    assert "building" not in err
    assert not (tmp_path / "data").exists()


def test_every_engine_and_workload_of_the_tree_is_let_through():
    options = {"command": 'options = { command = "true" }\n'}
    text = "".join(f'[[workload]]\nname = "{name}"\n' for name in workload_names()) + "".join(
        f'[[engine]]\nname = "{name}"\n{options.get(name, "")}' for name in names()
    )
    cells = expand(parse_matrix(text, "a test's matrix"))
    assert {cell.entry.name for cell in cells} == set(workload_names())
    check_built_packages(cells)


@pytest.mark.parametrize(
    ("revision", "env", "named"),
    [
        ("no-such-branch", {}, "--against 'no-such-branch' is not a revision of"),
        ("--help", {}, "--against '--help' is not a revision of"),
        ("HEAD:README.md", {}, "--against 'HEAD:README.md' is not a revision of"),
        ("HEAD", {"CXX": "/no/such/c++"}, "no C++ compiler to build revisions: /no/such/c++"),
        ("HEAD", {"CXX": "false"}, "install one (apt-get install g++), or set CXX"),
        ("HEAD", {"PATH": "/nowhere"}, "git ls-files"),
    ],
)
def test_an_impossible_build_is_one_sentence(
    checked_out, tmp_path, revision, env, named, monkeypatch, capsys
):
    path, data = matrix(tmp_path, "fake"), tmp_path / "data"
    monkeypatch.chdir(checked_out)
    for name, value in {"LAB_DATA": str(data), **env}.items():
        monkeypatch.setenv(name, value)
    code, err = call(["gate", f"--against={revision}", str(path)]), capsys.readouterr().err
    assert code == EXIT_USER_ERROR, err
    assert named in err
    assert "Traceback" not in err
    assert not data.exists()
