"""A core install runs, reports and lists; features without their extra name the extra.

The environment has links to this one's packages, those of the core tier only: no index is needed.
"""

import json
import os
import subprocess
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from streamlab.workloads.optional_packages import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUN = ("run", "event_window", "--events", "20000")
CONTAINER = """
[run]
isolate = "container"
[[workload]]
name = "event_window"
events = 20_000
[[engine]]
name = "reference"
"""


def distributions_of(lines):
    """Return the distributions that these requirements need, and all that those need."""
    found = {}
    waiting = [Requirement(line) for line in lines]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        if name in found or not (requirement.marker is None or requirement.marker.evaluate()):
            continue
        found[name] = distribution(name)
        for line in found[name].requires or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                needed.marker = None
                waiting.append(needed)
    return found.values()


def link(installed, site):
    """Link the files and folders that a distribution installs beside others into `site`."""
    tops = {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}
    for top in tops:
        source = Path(installed.locate_file(top))
        if not (site / top).exists():
            (site / top).symlink_to(source)


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A function that runs `lab` in an environment of the core tier, and returns the process."""
    folder = tmp_path_factory.mktemp("core")
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    for installed in (*distributions_of(PROJECT["dependencies"]), distribution("stream-lab")):
        link(installed, site)
    (folder / "container.toml").write_text(CONTAINER)
    places = {"LAB_DATA": folder / "data", "LAB_RUNS": folder / "runs"}
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {name: str(path) for name, path in places.items()}

    def run(*command):
        return subprocess.run(
            [str(folder / "venv" / "bin" / "python"), *command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def succeeds(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows_of(output):
    run = Path(output.splitlines()[-1])
    rows = [json.loads(path.read_text()) for path in (run / "trials").glob("*.json")]
    return run, {row["engine"]: row for row in rows}


def test_the_environment_has_no_package_of_an_extra(core):
    script = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    assert succeeds(core("-c", script, *EXTRAS, "requests", "google")) == "[]\n"


def test_it_runs_and_reports_and_a_cell_on_spark_names_its_extra(core):
    engines = ("reference", "multicore", "dataframe", "spark")
    wanted = [word for engine in engines for word in ("--engine", engine)]
    done = core("-m", "streamlab", *RUN, *wanted)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no cell of engine spark ran: spark: pyspark is not installed" in done.stderr
    run, rows = rows_of(done.stdout)
    assert {engine: row["status"] for engine, row in rows.items()} == {
        **dict.fromkeys(engines, "ok"),
        "spark": "unsupported",
    }
    assert rows["spark"]["reason"] == (
        "spark: pyspark is not installed; remedy: pip install 'stream-lab[spark]'"
    )
    reason = rows["reference"]["energy_reason"]
    assert reason is None or "pyrapl: energy: pyRAPL is not installed; " in reason
    page = Path(succeeds(core("-m", "streamlab", "report", str(run))).splitlines()[-1])
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert run.name in succeeds(core("-m", "streamlab", "list", "runs"))
    listed = succeeds(core("-m", "streamlab", "list", "engines"))
    assert "not usable" not in listed
    assert "spark  pyspark -\n" in listed


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("check", "event_window"), "check: hypothesis is not installed"),
        (
            ("data", "build", "event_window", "--with", "spark", "--events", "1000"),
            "spark: pyspark is not installed",
        ),
        (
            ("run", "container.toml"),
            'isolate = "container": container: docker is not installed',
        ),
    ],
)
def test_a_command_that_needs_a_missing_extra_names_it(core, command, message):
    done = core("-m", "streamlab", *command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"lab: {message}; remedy: pip install 'stream-lab["), done.stderr


def test_energy_and_the_doctor_name_the_extras_that_are_missing(core):
    rows = json.loads(succeeds(core("-m", "streamlab", "doctor", "--json")))
    seen = {row["name"]: (row["seen"], row["remedy"]) for row in rows}
    assert seen["pyRAPL"] == ("energy: pyRAPL is not installed", "pip install 'stream-lab[energy]'")
    assert seen["extras"][1] == "pip install 'stream-lab[check,container,energy,spark]'"
