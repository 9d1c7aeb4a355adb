"""The ready-made workflows use existing targets, options, inputs and files, and valid shell."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamlab.engines.broker.broker import NAME as BROKER
from streamlab.engines.environment import declared_environment
from streamlab.engines.registry import engine, names
from streamlab.lab.cli.measure import gate

ROOT = Path(__file__).parents[2]
LAB_WORKFLOW = ROOT / ".github" / "workflows" / "lab.yml"
CALLED = ROOT / ".github" / "workflows" / "gate.yml"
ACTION = ROOT / "action.yml"
OWN = ROOT / "docs" / "ci" / "own-repository.yml"


def load(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text())


def steps(file: Path = LAB_WORKFLOW, job: str | None = None) -> list[dict[str, Any]]:
    """Return the steps of a job, or of all, or of an action."""
    content = load(file)
    jobs = content.get("jobs", {"action": content.get("runs")})
    return [step for name in ([job] if job else jobs) for step in jobs[name]["steps"]]


def scripts(file: Path = LAB_WORKFLOW, job: str | None = None) -> list[str]:
    """Return the shell of every step that has some."""
    return [step["run"] for step in steps(file, job) if "run" in step]


def test_every_make_target_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = {name for script in scripts() for name in re.findall(r"\bmake ([a-z-]+)", script)}
    assert {"setup", "lint", "cpp-test", "stress", "perturbed"} <= targets
    assert [name for name in targets if f"\n{name}: " not in makefile] == []


@pytest.mark.parametrize("job", ["correctness", "everything"])
def test_a_job_that_runs_the_tests_has_all_engines_and_tells_the_slowest(job):
    """Tests of an engine that is not there are skipped, which nobody would see."""
    shell = scripts(LAB_WORKFLOW, job)
    made = [name for step in shell for name in re.findall(r"make engine NAME=([\w-]+)", step)]
    assert sorted(made) == sorted(
        [BROKER, *(name for name in names() if declared_environment(engine(name)))]
    )
    assert any("openjdk" in step for step in shell)
    makefile = (ROOT / "Makefile").read_text()
    target = {"correctness": "pytest", "everything": "test-all"}[job]
    assert any(f"make {target}" in step for step in shell)
    assert re.search(r"^test-all: .*\n\t.*\bstages,.* pytest\)", makefile, re.MULTILINE)
    assert "--durations=30" in makefile.partition("\npytest:")[2].partition("\n\n")[0]


def test_every_option_of_the_gate_exists():
    known = {option for parameter in gate.params for option in parameter.opts}
    used = {
        option
        for script in scripts()
        if "lab gate" in script
        for option in re.findall(r"(?<=\s)--[a-z-]+", script[script.index("lab gate") :])
    }
    assert {"--against", "--metric", "--advisory", "--junit", "--markdown"} <= used <= known


def test_every_file_that_is_named_exists():
    pattern = r"\b(?:benchmarks|results|docs)/[\w/.-]+\.(?:toml|json|md)\b"
    named = re.findall(pattern, LAB_WORKFLOW.read_text())
    assert "benchmarks/ci.toml" in named
    assert [name for name in [*named, "constraints.txt"] if not (ROOT / name).is_file()] == []


def test_the_action_and_the_called_workflow_get_the_inputs_that_they_declare():
    action = load(ACTION)["inputs"]
    called = load(CALLED)[True]["workflow_call"]["inputs"]  # YAML 1.1 reads `on` as true
    own = OWN.read_text()
    by_call = yaml.safe_load(own[own.index("#   gate:") :].replace("#   ", ""))["gate"]
    uses = [
        *((step["with"], action) for step in steps(CALLED) if step.get("uses") == "./lab"),
        *((step["with"], action) for step in steps(OWN) if "stream-lab@" in step["uses"]),
        (by_call["with"], called),
    ]
    assert len(uses) == 3
    for given, declared in uses:
        required = {name for name, each in declared.items() if each.get("required")}
        assert required <= given.keys() <= declared.keys()
    assert {
        name: each["default"] for name, each in called.items() if name in ("install", "options")
    } == {name: action[name]["default"] for name in ("install", "options")}


@pytest.mark.skipif(shutil.which("bash") is None, reason="the steps are bash; absent here")
@pytest.mark.parametrize("file", [LAB_WORKFLOW, ACTION], ids=["ours", "action"])
def test_every_step_is_valid_shell(file):
    for script in scripts(file):
        done = subprocess.run(
            ["bash", "-n"], input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{script}\n{done.stderr}"
