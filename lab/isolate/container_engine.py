"""Connects to the container engine, and removes the containers of trials."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import psutil

from streamlab.lab.errors import IsolationError
from streamlab.lab.isolate import docker, requests
from streamlab.workloads.optional_packages import missing_package

LABEL_OWNER = "lab.owner"
"""Label of a container; its value is the text that `owner` returns."""

# API version by address. Without this cache, each request costs Podman half a second of CPU time, because Podman asks
# the machine's package manager for Podman's version.
_api_versions: dict[str, str] = {}
_rootless: dict[str, bool] = {}

REPLY_TIMEOUT_S = 120
"""Time limit for replies, except waits; a loaded machine takes seconds to start a container."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_HOW_TO_START = (
    "start one (systemctl start docker; or podman system service --time=0 unix://PATH &) and name "
    'its socket with DOCKER_HOST=unix://PATH, or use isolate = "process"'
)


def sockets(environ: Mapping[str, str]) -> list[str]:
    """Return paths of sockets where an engine may listen; paths from environment variables come first."""
    from_environment = [
        address.removeprefix("unix://")
        for name in ("DOCKER_HOST", "CONTAINER_HOST")
        if (address := environ.get(name, "")).startswith("unix://")
    ]
    runtime = environ.get("XDG_RUNTIME_DIR")
    rootless = [f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock"] if runtime else []
    return [*from_environment, "/var/run/docker.sock", *rootless, "/run/podman/podman.sock"]


def address_of(environ: Mapping[str, str]) -> str:
    """Return the address in DOCKER_HOST, or else the address of the first existing socket."""
    if environ.get("DOCKER_HOST"):
        return environ["DOCKER_HOST"]
    paths = sockets(environ)
    return "unix://" + next((path for path in paths if Path(path).exists()), paths[0])


def connect() -> "docker.DockerClient":
    """Return a client of the engine at the address that `address_of` finds.

    Raises:
        IsolationError: no client is installed, or no engine answers.
    """
    problem = missing_package("docker")
    if problem is not None:
        raise IsolationError(f'isolate = "container": {problem}')
    address = address_of(os.environ)
    try:
        if address.startswith("unix://"):
            _knock(address.removeprefix("unix://"))
        version = _api_versions.get(address)
        environ = {**os.environ, "DOCKER_HOST": address}
        client = docker.from_env(version=version, timeout=REPLY_TIMEOUT_S, environment=environ)
        if version is not None and not client.ping():
            raise docker.errors.DockerException("it does not answer a ping")
        _api_versions[address] = client.api.api_version
    except (docker.errors.DockerException, OSError) as error:
        is_set = "DOCKER_HOST" in os.environ
        raise IsolationError(
            f'isolate = "container": no container engine answers at {address}'
            f"{'' if is_set else ' (DOCKER_HOST is not set)'}: {error}; {_HOW_TO_START}"
        ) from error
    return client


def is_rootless(client: "docker.DockerClient") -> bool:
    """Return whether the engine of a client from `connect` runs as this user."""
    address = address_of(os.environ)
    if address not in _rootless:
        options = client.info().get("SecurityOptions") or ()
        _rootless[address] = any("rootless" in option for option in options)
    return _rootless[address]


def owner() -> str:
    """Return a label that identifies this process, across reboots and process namespaces."""
    return f"{_boot_and_namespace()} {os.getpid()} {psutil.Process().create_time():.2f}"


def remove(client: "docker.DockerClient", name: str) -> None:
    """Kill and remove a container, if it exists."""
    try:
        client.api.remove_container(name, force=True, v=True)
    except docker.errors.NotFound:
        return
    except (docker.errors.APIError, requests.exceptions.RequestException) as error:
        raise IsolationError(
            f"container {name} cannot be removed: {error}; remove it by hand"
        ) from error


def sweep(client: "docker.DockerClient") -> list[str]:
    """Remove containers whose lab has ended; return their names.

    Keeps containers whose lab is on another machine or in another process namespace, because that lab may be alive.
    A lab inside a container, for example, has its own process namespace.
    """
    names = []
    for container in client.containers.list(
        all=True, filters={"label": LABEL_OWNER}, ignore_removed=True
    ):
        if _is_orphan(str(container.labels.get(LABEL_OWNER, ""))):
            remove(client, str(container.name))
            names.append(str(container.name))
    return names


def _knock(path: str) -> None:
    """Connect and disconnect, to test the socket; the SDK leaves its socket open if the engine does not answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(REPLY_TIMEOUT_S)
        client.connect(path)


def _boot_and_namespace() -> str:
    boot = BOOT_ID.read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def _is_orphan(label: str) -> bool:
    words = label.rsplit(" ", 2)
    if len(words) != 3 or not words[1].isdigit():
        return False
    boot, _, namespace = words[0].partition(" ")
    own_boot, _, own_namespace = _boot_and_namespace().partition(" ")
    if boot != own_boot:
        return True  # The lab ended with the reboot.
    if namespace != own_namespace:
        return False
    try:
        created_s = psutil.Process(int(words[1])).create_time()
    except psutil.NoSuchProcess:
        return True
    return abs(created_s - float(words[2])) > 1
