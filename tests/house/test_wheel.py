"""An installed wheel is the complete lab: another environment, another folder, no checkout.

The environment sees the packages of this one, and not its lab: what is tested is the wheel, not
whether an index can be reached. On this machine's interpreter only; others are pyproject's promise.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from streamlab.lab.host.git import git
from tests.house.users_packages import CHECK, run, write_packages

ROOT = Path(__file__).parents[2]
LINKED = ("lab", "workloads", "engines", "reports", "results")
"""The folders that `streamlab/` links to; a wheel holds their files instead of links."""

CELLS = ("multicore/dgs/w2/b4096", "dataframe/*", "spark/cached/*")
"""Of the demo's fraud_detection: native code, a library, and Java with Python workers."""

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    run = ROOT / "results" / "runs" / "test-of-the-wheel"  # what a used checkout has
    run.mkdir(parents=True, exist_ok=True)
    (run / "run.json").write_text("{}")
    asked = os.environ.get("LAB_WHEEL_DIR")  # `make wheel` leaves it there
    out = Path(asked) if asked else tmp_path_factory.mktemp("wheel")
    tools = Path(sys.executable).parent  # cmake and ninja
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"),
            *("--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(out), "."),
            # Each source alone and without a precompiled header, which shows an include that is missing.
            *(f"--config-settings=cmake.define.{name}=OFF" for name in ("LAB_PCH", "LAB_UNITY")),
        ],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
        check=True,
    )
    shutil.rmtree(run)
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A function that runs the installed `lab` in an empty folder; its parts, and the folder."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    # What a .pth file names is searched, and the .pth files there, an editable lab's, are not run.
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)),
            *("install", "--quiet", "--no-deps", "--no-index", str(wheel)),
        ],
        check=True,
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "LAB_DATA", "LAB_RUNS", "VIRTUAL_ENV")
    }
    (folder / "here").mkdir()

    def lab(*arguments):
        return subprocess.run(
            [str(python.with_name("lab")), *arguments],
            cwd=folder / "here",
            env={**kept, "XDG_DATA_HOME": str(folder / "share")},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    return lab, folder


def test_all_that_the_packages_hold_is_in_the_wheel(wheel):
    linked = git(ROOT, "ls-files", "-z", *LINKED).split("\0")
    own = git(ROOT, "ls-files", "-z", "streamlab/*.*").split("\0")
    expected = {f"streamlab/{name}" for name in linked if name} | set(filter(None, own))
    names = set(zipfile.ZipFile(wheel).namelist())
    assert sorted(expected - names) == []
    compiled = re.compile(r"streamlab/engines/multicore/_(core|bench)\.[\w-]+\.so|stream_lab-.*")
    assert [name for name in sorted(names - expected) if not compiled.fullmatch(name)] == []
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.startswith("stream_lab-")} == {"streamlab"}


def test_the_demo_runs_from_a_wheel_in_another_folder(installed):
    lab, folder = installed
    only = [word for cell in CELLS for word in ("--only", f"fraud_detection/{cell}")]
    *said, page, run = lab("run", "--demo", *only, "--report").splitlines()
    assert Path(run).parent == folder / "share" / "lab" / "runs"
    assert Path(page).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    rows = [json.loads(path.read_text()) for path in (Path(run) / "trials").glob("*.json")]
    assert {row["engine"] for row in rows} == {"multicore", "dataframe", "spark"}
    assert {row["status"] for row in rows} == {"ok"}, said
    assert Path(run).name in lab("list", "runs")
    assert list((folder / "here").iterdir()) == []


def test_an_installed_lab_leaves_the_names_of_its_folders_to_the_user(installed):
    _, folder = installed
    write_packages(folder / "user")
    python = str(folder / "venv" / "bin" / "python")
    for command in (("script.py",), ("-c", CHECK)):
        done = run(python, *command, folder=folder / "user")
        assert done.returncode == 0, done.stdout


def test_files_shipped_with_the_code_are_found(installed):
    lab, folder = installed
    assert "available" in lab("list", "figures")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for what in ("engines", "workloads"):
        # A package of one's own beside the lab, installed in place, cannot be reached from here.
        unusable = re.findall(r"^(\S+) +not usable", lab("list", what), flags=re.M)
        assert groups[f"lab.{what}"].keys().isdisjoint(unusable)
    lab("new", "engine", "mine", "--in", str(folder))
    assert (folder / "mine" / "pyproject.toml").is_file()
    published = lab("doctor", "--json")
    assert not [item for item in json.loads(published) if "probe failed" in item["seen"]]
