"""The ready-made workflows call what exists: targets, options, files, and valid shell."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from streamlab.engines.broker.broker import NAME as BROKER
from streamlab.engines.environment import declared_environment
from streamlab.engines.registry import engine, names
from streamlab.lab.cli.measure import gate

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "lab.yml").read_text()
OWN = (ROOT / "docs" / "ci" / "own-repository.yml").read_text()
both = pytest.mark.parametrize("workflow", [WORKFLOW, OWN], ids=["ours", "own"])


def scripts(workflow: str = WORKFLOW) -> list[str]:
    """Return the shell of every step: `run: one line`, or `run: |` and an indented block."""
    found = []
    lines = workflow.splitlines()
    for number, line in enumerate(lines):
        match = re.match(r"( *)(?:- )?run: (.*)", line)
        if match is None:
            continue
        if match[2] != "|":
            found.append(match[2])
            continue
        inside = []
        for later in lines[number + 1 :]:
            if later.strip() and len(later) - len(later.lstrip()) <= len(match[1]):
                break
            inside.append(later)
        found.append("\n".join(inside))
    return found


def test_the_workflows_have_scripts_and_no_tabs():
    assert len(scripts()) >= 15
    assert len(scripts(OWN)) >= 4
    assert "\t" not in WORKFLOW + OWN


def test_every_make_target_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = {name for script in scripts() for name in re.findall(r"\bmake ([a-z-]+)", script)}
    assert {"setup", "lint", "cpp-test", "stress", "perturbed"} <= targets
    assert [name for name in targets if f"\n{name}: " not in makefile] == []


@pytest.mark.parametrize("job", ["correctness", "everything"])
def test_a_job_that_runs_the_tests_has_all_engines_and_tells_the_slowest(job):
    """Tests of an engine that is not there are skipped, which nobody would see."""
    steps = scripts(WORKFLOW.partition(f"  {job}:\n")[2].partition("\n\n  ")[0])
    made = [name for step in steps for name in re.findall(r"make engine NAME=([\w-]+)", step)]
    assert sorted(made) == sorted(
        [BROKER, *(name for name in names() if declared_environment(engine(name)))]
    )
    assert any("openjdk" in step for step in steps)
    makefile = (ROOT / "Makefile").read_text()
    target = {"correctness": "pytest", "everything": "test-all"}[job]
    assert any(f"make {target}" in step for step in steps)
    assert re.search(r"^test-all: .*\n\t.*\bstages,.* pytest\)", makefile, re.MULTILINE)
    assert "--durations=30" in makefile.partition("\npytest:")[2].partition("\n\n")[0]


@both
def test_every_option_of_the_gate_exists(workflow):
    known = {option for parameter in gate.params for option in parameter.opts}
    used = {
        option
        for script in scripts(workflow)
        if "lab gate" in script
        for option in re.findall(r"(?<=\s)--[a-z-]+", script[script.index("lab gate") :])
    }
    assert {"--against", "--metric", "--advisory", "--junit", "--markdown"} <= used <= known
    assert ("--repo" in used) == (workflow is OWN)


def test_every_file_that_is_named_exists():
    named = re.findall(r"\b(?:benchmarks|results|docs)/[\w/.-]+\.(?:toml|json|md)\b", WORKFLOW)
    assert "benchmarks/ci.toml" in named
    assert [name for name in [*named, "constraints.txt"] if not (ROOT / name).is_file()] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="the steps are bash; absent here")
@both
def test_every_step_is_valid_shell(workflow):
    for script in scripts(workflow):
        done = subprocess.run(
            ["bash", "-n"], input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{script}\n{done.stderr}"
