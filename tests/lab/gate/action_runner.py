"""Runs the steps of a composite action in a shell, as the runner of the forge would."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


@dataclass
class ActionRun:
    """Outcome of an action: exit code of the first step that failed, output, summary and uploaded files."""

    code: int = 0
    log: str = ""
    ran: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    uploaded: dict[str, list[Path]] = field(default_factory=dict)


def run_action(
    action: Path,
    inputs: dict[str, str],
    *,
    github: dict[str, Any],
    folder: Path,
    env: dict[str, str],
) -> ActionRun:
    """Run all steps of `action`, an action.yml, in the current folder.

    Knows lookups in contexts, `always()`, `==`, `!=` and `&&`, steps of bash, and the upload of an artifact.
    """
    definition = yaml.safe_load(action.read_text())
    for name, declared in definition["inputs"].items():
        assert name in inputs or not declared.get("required"), f"input {name} is missing"
    unknown = inputs.keys() - definition["inputs"].keys()
    assert not unknown, f"no such inputs: {unknown}"
    defaults = {name: each.get("default", "") for name, each in definition["inputs"].items()}
    steps: dict[str, Any] = {}
    contexts = {
        "inputs": defaults | inputs,
        "github": github | {"action_path": str(action.parent)},
        "runner": {"temp": str(folder)},
        "steps": steps,
    }
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    done = ActionRun()
    for step in definition["runs"]["steps"]:
        condition = step.get("if", "success()")
        if not _holds(condition, contexts, failed=done.code != 0):
            continue
        done.ran.append(step["name"])
        if "uses" in step:
            assert step["uses"].startswith("actions/upload-artifact@"), step["uses"]
            given = {name: _fill(value, contexts) for name, value in step["with"].items()}
            done.uploaded[given["name"]] = sorted(Path(given["path"]).iterdir())
            continue
        assert step["shell"] == "bash", step["name"]
        for file in files.values():
            file.touch()
        files["GITHUB_OUTPUT"].write_text("")
        variables = {name: _fill(value, contexts) for name, value in step.get("env", {}).items()}
        shell = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=_fill(step.get("working-directory", "."), contexts),
            env={**os.environ, **{k: str(v) for k, v in files.items()}, **env, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        done.log += shell.stdout
        done.code = done.code or shell.returncode
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        if "id" in step:
            steps[step["id"]] = {"outputs": dict(line.split("=", 1) for line in lines)}
    done.summary = files["GITHUB_STEP_SUMMARY"].read_text()
    done.outputs = {
        name: _fill(each["value"], contexts) for name, each in definition["outputs"].items()
    }
    return done


def _look_up(path: str, contexts: dict[str, Any]) -> str:
    value: Any = contexts
    for name in path.split("."):
        value = value.get(name, {})
    return "" if value == {} else str(value)


def _fill(text: str, contexts: dict[str, Any]) -> str:
    filled = EXPRESSION.sub(lambda match: _look_up(match[1], contexts), str(text))
    assert "${{" not in filled, f"not an expression that this runner knows: {text}"
    return filled


def _holds(condition: str, contexts: dict[str, Any], *, failed: bool) -> bool:
    terms = condition.split(" && ")
    if failed and "always()" not in terms:
        return False
    for term in terms:
        if term in ("always()", "success()"):
            continue
        match = re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", term)
        assert match, f"not a condition that this runner knows: {term}"
        if (_look_up(match[1], contexts) == match[3]) != (match[2] == "=="):
            return False
    return True
