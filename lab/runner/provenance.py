"""Collects a run's provenance: host, software and source revision."""

import hashlib
import os
import platform
import sys
from importlib.metadata import distributions

import psutil

from streamlab.json_value import JsonValue
from streamlab.lab.host.git import GitError, git, git_bytes
from streamlab.lab.host.installation import SOURCE
from streamlab.lab.host.machine import Machine
from streamlab.lab.host.processor import CPU, cpu_field
from streamlab.lab.isolate.source import DATA, PARTS, source_bytes
from streamlab.results.meta import Revision, Software
from streamlab.workloads import control_group


def host() -> dict[str, JsonValue]:
    """Return the machine's properties for `streamlab.results.machines`; None where unreadable."""
    machine = Machine()
    return {
        "cpu_model": cpu_field(machine, "model name"),
        "microcode": cpu_field(machine, "microcode"),
        "cores_logical": os.cpu_count(),
        "cores_physical": psutil.cpu_count(logical=False),
        "cores_usable": len(os.sched_getaffinity(0)),
        "governor": machine.text(f"{CPU}/cpu0/cpufreq/scaling_governor"),
        "turbo_off": machine.text(f"{CPU}/intel_pstate/no_turbo"),
        "smt": machine.text(f"{CPU}/smt/control"),
        "virtualised": "hypervisor" in (cpu_field(machine, "flags") or "").split(),
        "hypervisor": machine.text("/sys/class/dmi/id/sys_vendor"),
        "memory_bytes": psutil.virtual_memory().total,
        "memory_limit_bytes": control_group.memory_bytes(machine.text),
        "cpu_quota_cores": control_group.cpu_quota(machine.text),
        "kernel": platform.release(),
        "os": _os_name(),
        "architecture": platform.machine(),
        "loadavg": list(os.getloadavg()),
    }


def software() -> Software:
    """Return the interpreter and the versions of all installed packages, without importing them."""
    packages = {dist.metadata["Name"]: dist.version for dist in distributions()}
    return Software(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        executable_prefix_is_venv=sys.prefix != sys.base_prefix,
        packages=dict(sorted(packages.items(), key=lambda item: item[0].lower())),
    )


def revision() -> Revision:
    """Return the source revision: the commit, and a hash of the changes since the commit.

    `dirty_diff_sha256` covers changed and untracked files of the source; None for a clean tree.
    Without a checkout, `commit` is None and `reason` has the cause.
    """
    parts = ("--", *PARTS, *(f":!{folder}" for folder in DATA))
    try:
        # Without this check, an installation in another checkout's .venv would report that checkout's commit.
        git(SOURCE, "ls-files", "--error-unmatch", "lab/runner/provenance.py")
        commit = git(SOURCE, "rev-parse", "HEAD")
        diff = git_bytes(SOURCE, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-color", *parts)
        untracked_names = git_bytes(
            SOURCE, "ls-files", "--others", "--exclude-standard", "-z", *parts
        )
    except GitError as error:
        return Revision(reason=f"no checkout: {error}")
    digest = hashlib.sha256(diff)
    for name in filter(None, untracked_names.split(b"\0")):
        digest.update(name + b"\0" + source_bytes(SOURCE / os.fsdecode(name)))
    dirty = digest.hexdigest() if diff or untracked_names else None
    return Revision(commit=commit, dirty_diff_sha256=dirty)


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
