"""Runs trials in one arm of a gate: each in a fresh process with the arm's copy of the lab.

An editable install adds an import hook through a .pth file, and the hook wins over PYTHONPATH.
Arms therefore run on the base interpreter, which reads no .pth file of the environment.
PYTHONPATH has the arm's copy, then the environment's packages; the current folder is not searched.
Child processes of a trial inherit this PYTHONPATH.
"""

import json
import os
import site
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.errors import GateError
from streamlab.lab.host.git import environment
from streamlab.lab.isolate.process import FileAccess, Outcome, run_isolated
from streamlab.lab.judge.client import judge_of
from streamlab.lab.runner.launcher import answers_of, make_temporary_folders, run_and_judge
from streamlab.lab.trial.spec import EngineTrial, Job, OracleJob, fields_of
from streamlab.workloads.default_folders import cache_folder
from streamlab.workloads.references import file_of

Result = dict[str, object]

LAB_MODULES = ("streamlab", "streamlab.lab.trial", "streamlab.results.schema")
"""Modules of this lab to check in each arm."""

_PROBE = """
import importlib, json, sys
print(json.dumps([importlib.import_module(name).__file__ for name in sys.argv[1:]]))
"""
PROBE_TIMEOUT_S = 120
"""Far above the seconds that imports take on a busy machine."""
BOOTSTRAP = Path(__file__).with_name("bootstrap.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a gate: a copy of the lab that can run trials.

    Attributes:
        name: `old` or `new`.
        revision: the revision's name in messages.
        python: interpreter of the arm's processes.
        path: folders of PYTHONPATH, the build first.
        tree: checkout from which the arm was built.
        cache: folder for compiled code; None: the cache of this process. Built arms have separate
            folders, because a shared folder could return code of the other arm.
        checkout: the user's checkout of the repository; None if it does not matter.
    """

    name: str
    revision: str
    python: Path
    path: tuple[Path, ...]
    tree: Path
    cache: Path | None = None
    checkout: Path | None = None

    def environment(self) -> dict[str, str]:
        """Return the variables that the arm's processes need in addition to this environment."""
        variables = {"PYTHONPATH": os.pathsep.join(map(str, self.path)), "PYTHONSAFEPATH": "1"}
        if not site.ENABLE_USER_SITE:  # as in this process
            variables["PYTHONNOUSERSITE"] = "1"
        if self.cache is None:
            return variables
        folders = ("LAB_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
        return variables | {name: str(self.cache / name.lower()) for name in folders}

    def localise(self, reference: str | None) -> str | None:
        """Return a workload's reference; a file in the checkout is replaced by its copy in the tree."""
        file = None if reference is None else file_of(reference)
        if reference is None or file is None or self.checkout is None:
            return reference
        path = file.resolve()
        if not path.is_relative_to(self.checkout):
            return reference
        copy = self.tree / path.relative_to(self.checkout)
        return f"{copy}{reference.removeprefix(str(file))}"


def site_arm(*, name: str, revision: str, folder: Path, tree: Path) -> Arm:
    """Return the arm whose lab `pip install --target` wrote into a folder.

    Raises:
        GateError: the folder has no lab, or trials would import the lab from elsewhere.
    """
    if not (folder / "streamlab").is_dir():
        raise GateError(
            f"{revision} has no package `streamlab`: it is too old for this gate; run that "
            "revision's own gate, or give a newer revision"
        )
    python = Path(getattr(sys, "_base_executable", None) or sys.executable)
    packages = dict.fromkeys(Path(sysconfig.get_path(key)) for key in ("purelib", "platlib"))
    arm = Arm(
        name=name,
        revision=revision,
        python=python,
        path=(folder, *packages),
        tree=tree,
        cache=folder.parent / "cache",
    )
    core = "streamlab.engines.multicore._core"
    for file in find_module_files(arm, (core, *LAB_MODULES, "streamlab.workloads")):
        if not file.is_relative_to(folder):
            raise GateError(
                f"{revision}: trials would import {file}, which is not in {folder}; install the lab "
                "in its own environment (`make setup`) and run the gate there"
            )
    return arm


def find_module_files(arm: Arm, modules: Sequence[str]) -> tuple[Path, ...]:
    """Return the files from which an arm's processes import modules.

    Raises:
        GateError: a module cannot be imported.
    """
    place = f"{arm.revision}: its build in {arm.path[0]}"
    try:
        probe = subprocess.run(
            [str(arm.python), "-c", _PROBE, *modules],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=PROBE_TIMEOUT_S,
            env=environment() | arm.environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GateError(f"{place} cannot be tested: {error}") from error
    if probe.returncode != 0:
        last_line = (probe.stderr.strip().splitlines() or ["no output"])[-1]
        raise GateError(f"{place} does not import: {last_line}")
    return tuple(map(Path, json.loads(probe.stdout)))


def run_in_arm(arm: Arm, job: EngineTrial | OracleJob, *, log: Path, timeout_s: float) -> Result:
    """Run one trial or oracle in a fresh process of an arm and return its columns.

    If the arm's revision lacks a field of the job, the trial is a crash that names the field.
    """
    with log.open("a", encoding="utf-8") as file:
        file.write(f"# arm {arm.name}\n")

    def start(job: Job, folder: Path) -> Outcome:
        variables = make_temporary_folders(folder)
        access: FileAccess | None = None
        if isinstance(job, EngineTrial):
            cache = arm.cache or cache_folder()
            cache.mkdir(parents=True, exist_ok=True)
            access = FileAccess(writable=(folder, cache), hidden=answers_of(job))
        request, spec_path = folder / "request.json", folder / "spec.json"
        request.write_text(
            json.dumps({"spawned_ns": time.monotonic_ns(), **fields_of(job)}), encoding="utf-8"
        )
        return run_isolated(
            [str(path) for path in (arm.python, BOOTSTRAP, request, spec_path)],
            log=log,
            timeout_s=timeout_s,
            env={**variables, **arm.environment()},
            folder=folder,
            access=access,
        )

    judge = judge_of(str(arm.python), arm.environment())
    variables = arm.environment()
    return run_and_judge(job, start, judge, variables, log=log, timeout_s=timeout_s).columns
