"""Collects a run's provenance: host, software and source revision."""

import hashlib
import os
import platform
import sys
from importlib.metadata import distributions
from pathlib import Path

import psutil

from streamlab.json_value import JsonValue
from streamlab.lab.host.git import GitError, git, git_bytes
from streamlab.lab.host.installation import SOURCE
from streamlab.lab.isolate.source import source_bytes
from streamlab.results.meta import Revision, Software
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
"""The part of the source that results depend on; not documentation, tests and runs."""


def host() -> dict[str, JsonValue]:
    """Return the machine's properties for `streamlab.results.machines`; None where unreadable."""
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
        "cpu_quota_cores": control_group.cpu_quota(control_group.read_text),
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
    """Return the source revision: the commit, and a hash of changes since.

    `dirty_diff_sha256` covers changed and untracked files of SOURCE_PARTS; None for a clean tree.
    Without a checkout, `commit` is None and `reason` has the cause.
    """
    parts = ("--", *SOURCE_PARTS)
    try:
        # Without this, an installation inside another checkout's .venv would report its commit.
        git(SOURCE, "ls-files", "--error-unmatch", "lab/runner/provenance.py")
        commit = git(SOURCE, "rev-parse", "HEAD")
        diff = git_bytes(SOURCE, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-color", *parts)
        untracked = git_bytes(SOURCE, "ls-files", "--others", "--exclude-standard", "-z", *parts)
    except GitError as error:
        return Revision(reason=f"no checkout: {error}")
    digest = hashlib.sha256(diff)
    for name in filter(None, untracked.split(b"\0")):
        digest.update(name + b"\0" + source_bytes(SOURCE / os.fsdecode(name)))
    dirty = digest.hexdigest() if diff or untracked else None
    return Revision(commit=commit, dirty_diff_sha256=dirty)


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
