"""Where a run took place: host, software and source revision, for its provenance."""

import hashlib
import os
import platform
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import psutil

from streamlab.lab.host.git import GitError, git, git_bytes
from streamlab.lab.host.installation import SOURCE
from streamlab.lab.isolate.source import source_bytes
from streamlab.workloads import control_group

SOURCE_PARTS = (
    "streamlab",
    "lab",
    "workloads",
    "engines",
    "results/*.py",
    "reports",
    "pyproject.toml",
    "CMakeLists.txt",
)
"""What a result depends on; documentation, tests and runs are left out."""


def host() -> dict[str, Any]:
    """Return the machine's properties for `streamlab.results.machines`; None for what cannot be read."""
    return {
        "cpu_model": _cpu_field("model name"),
        "microcode": _cpu_field("microcode"),
        "cores_logical": os.cpu_count(),
        "cores_physical": psutil.cpu_count(logical=False),
        "cores_usable": len(os.sched_getaffinity(0)),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo_off": _text("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "smt": _text("/sys/devices/system/cpu/smt/control"),
        "virtualised": "hypervisor" in (_cpu_field("flags") or "").split(),
        "hypervisor": _text("/sys/class/dmi/id/sys_vendor"),
        "memory_bytes": psutil.virtual_memory().total,
        "memory_limit_bytes": control_group.memory_bytes(control_group.read_text),
        "cpu_quota_cores": control_group.cores(control_group.read_text),
        "kernel": platform.release(),
        "os": _os_name(),
        "architecture": platform.machine(),
        "loadavg": list(os.getloadavg()),
    }


def software() -> dict[str, Any]:
    """Return the interpreter and the version of every installed package; imports none of them."""
    packages = {dist.metadata["Name"]: dist.version for dist in distributions()}
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable_prefix_is_venv": sys.prefix != sys.base_prefix,
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
    }


def revision() -> dict[str, Any]:
    """Return the source revision: commit, and a hash of what differs from it.

    `dirty_diff_sha256` is None for a clean tree; it covers changed and untracked files of the
    source, not
    those elsewhere in the checkout. Where the source is no checkout, `commit` is None and
    `reason` says
    why.
    """
    parts = ("--", *SOURCE_PARTS)
    try:
        # An installation inside a checkout (its .venv) must not take that checkout's commit for its
        # own.
        git(SOURCE, "ls-files", "--error-unmatch", "lab/runner/provenance.py")
        commit = git(SOURCE, "rev-parse", "HEAD")
        diff = git_bytes(SOURCE, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-color", *parts)
        untracked = git_bytes(SOURCE, "ls-files", "--others", "--exclude-standard", "-z", *parts)
    except GitError as error:
        return {"commit": None, "dirty_diff_sha256": None, "reason": f"no checkout: {error}"}
    digest = hashlib.sha256(diff)
    for name in filter(None, untracked.split(b"\0")):
        digest.update(name + b"\0" + source_bytes(SOURCE / os.fsdecode(name)))
    dirty = digest.hexdigest() if diff or untracked else None
    return {"commit": commit, "dirty_diff_sha256": dirty, "reason": None}


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _cpu_field(name: str) -> str | None:
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
