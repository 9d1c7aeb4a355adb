"""Probes the programs that the lab uses: Java, compiler, container engine, browser."""

import re
from pathlib import Path

from streamlab.lab.doctor.finding import Finding, missing, ok, warn
from streamlab.lab.host.machine import Machine
from streamlab.lab.isolate.container_engine import sockets
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import find_java
from streamlab.workloads.optional_packages import install_command

_OLDEST = {"gcc": 11, "clang": 14}
"""The first releases with the C++20 library parts that the core uses (atomic wait, span, bit operations)."""


def install(machine: Machine, debian: str, fedora: str) -> str:
    """Return the command that installs a package on this machine."""
    sudo = "" if machine.uid == 0 else "sudo "
    if machine.which("apt-get") is None and machine.which("dnf") is not None:
        return f"{sudo}dnf install -y {fedora}"
    return f"{sudo}apt-get install -y {debian}"


def java(machine: Machine) -> Finding:
    """Report which Java Spark would use, and why."""
    try:
        choice = find_java()
    except DatasetError as error:
        package = install(machine, "openjdk-17-jre-headless", "java-21-openjdk-headless")
        return missing(str(error), f"{package}, or {install_command(['spark'])}")
    return ok(choice.why)


def compiler(machine: Machine) -> Finding:
    """Report the C++ compiler and whether it is new enough for C++20."""
    remedy = install(machine, "g++", "gcc-c++")
    user_choice = machine.environ.get("CXX")
    path = machine.first_program(user_choice) if user_choice else None
    path = path or machine.first_program("c++", "g++", "clang++")
    if path is None:
        return missing("no c++, g++ or clang++ on PATH", remedy)
    line = (machine.run([path, "--version"]) or "").partition("\n")[0]
    family = "clang" if "clang" in line else "gcc"
    # Drop brackets: the distribution's version comes first, in brackets.
    version = re.search(r"(\d+)\.\d+", re.sub(r"\(.*?\)", "", line))
    if version is None:
        return warn(f"{path}: no version in its output ({line or 'empty'})", remedy)
    if int(version[1]) < _OLDEST[family]:
        requirement = f"{family} {_OLDEST[family]} or newer is needed"
        return missing(f"{line}: {requirement}", f"{remedy}, or CXX=... make setup")
    return ok(f"{line} ({path})")


def container_engine(machine: Machine) -> Finding:
    """Report a container engine: whether its socket answers, or only its program is installed."""
    for socket in sockets(machine.environ):
        if machine.path(socket).exists() and machine.connects(machine.path(socket)):
            return ok(f"answers on {socket}")
    binary = machine.first_program("podman", "docker")
    if binary is None:
        remedy = install(machine, "podman runc", "podman")
        return missing("no podman or docker", remedy)
    if Path(binary).name == "docker":
        remedy = "sudo systemctl start docker"
        return warn(f"{binary}, but no socket answers", remedy)
    return warn(
        f"{binary}; `make image` works, the lab's API access needs a socket",
        "podman system service --time=0 unix:///run/podman/podman.sock &",
    )


def chromium(machine: Machine) -> Finding:
    """Report a Chromium-like browser, without starting it; the tests open the report in it."""
    path = machine.first_program("chromium", "chromium-browser", "google-chrome")
    if path is None:
        return missing(
            "not on PATH; the browser test is skipped",
            install(machine, "chromium", "chromium"),
        )
    return ok(path)
