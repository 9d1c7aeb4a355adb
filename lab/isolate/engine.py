"""The container engine: how to reach it, and the containers that labs have started on it."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import psutil

from streamlab.lab.isolate.errors import IsolationError

if TYPE_CHECKING:
    from docker import DockerClient

LABEL_OWNER = "lab.owner"


@dataclass(slots=True, kw_only=True)
class _Said:
    """What an engine has said of itself.

    Podman asks the machine's package manager for its own version each time, and so takes half a
    second of a core for the two answers.
    """

    api_version: str
    rootless: bool | None = None


_known: dict[str, _Said] = {}
"""By address."""
_said_to: "WeakKeyDictionary[DockerClient, _Said]" = WeakKeyDictionary()

# Answers to anything but a wait; a loaded machine starts a container in seconds.
REPLY_TIMEOUT_S = 120
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_HOW_TO_START = (
    "start one (systemctl start docker; or podman system service --time=0 unix://PATH &) and name "
    'its socket with DOCKER_HOST=unix://PATH, or use isolate = "process"'
)


def sockets(environ: Mapping[str, str]) -> list[str]:
    """Return the paths of sockets at which an engine may answer, those that are named first."""
    named = [
        address.removeprefix("unix://")
        for name in ("DOCKER_HOST", "CONTAINER_HOST")
        if (address := environ.get(name, "")).startswith("unix://")
    ]
    runtime = environ.get("XDG_RUNTIME_DIR")
    rootless = [f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock"] if runtime else []
    return [*named, "/var/run/docker.sock", *rootless, "/run/podman/podman.sock"]


def address_of(environ: Mapping[str, str]) -> str:
    """Return the address that DOCKER_HOST names, else that of the first socket that is there."""
    if environ.get("DOCKER_HOST"):
        return environ["DOCKER_HOST"]
    known = sockets(environ)
    return "unix://" + next((path for path in known if Path(path).exists()), known[0])


def connect() -> "DockerClient":
    """Return a client of the engine that DOCKER_HOST names, else of the first socket that is there.

    Raises:
        IsolationError: none answers.
    """
    from docker.errors import DockerException  # heavy

    address = address_of(os.environ)
    try:
        if address.startswith("unix://"):
            _knock(address.removeprefix("unix://"))
        return _reach(address)
    except (DockerException, OSError) as error:
        named = "DOCKER_HOST" in os.environ
        raise IsolationError(
            f'isolate = "container": no container engine answers at {address}'
            f"{'' if named else ' (DOCKER_HOST is not set)'}: {error}; {_HOW_TO_START}"
        ) from error


def _reach(address: str) -> "DockerClient":
    """Return a client of the engine there, which is asked for its version where it was not yet."""
    import docker

    environ = {**os.environ, "DOCKER_HOST": address}
    client_of = partial(docker.from_env, timeout=REPLY_TIMEOUT_S, environment=environ)
    known = _known.get(address)
    if known is not None:
        client = client_of(version=known.api_version)
        try:
            if client.ping():
                _said_to[client] = known
                return client
        except (docker.errors.DockerException, OSError):
            pass  # it has gone, or another one has come: the question below tells
        client.close()
        del _known[address]
    client = client_of()
    _known[address] = _said_to[client] = _Said(api_version=client.api.api_version)
    return client


def is_rootless(client: "DockerClient") -> bool:
    """Return whether the engine that `connect` reached runs as this user."""
    said = _said_to[client]
    if said.rootless is None:
        options = client.info().get("SecurityOptions") or ()
        said.rootless = any("rootless" in option for option in options)
    return said.rootless


def owner() -> str:
    """Return what tells this process from every other one, before and after a reboot."""
    return f"{_here()} {os.getpid()} {psutil.Process().create_time():.2f}"


def remove(client: "DockerClient", name: str) -> None:
    """Kill and remove a container, if there is one.

    Raises:
        IsolationError: it is still there.
    """
    from docker.errors import APIError, NotFound
    from requests.exceptions import RequestException

    try:
        client.api.remove_container(name, force=True, v=True)
    except NotFound:
        return
    except (APIError, RequestException) as error:
        raise IsolationError(
            f"container {name} cannot be removed: {error}; remove it by hand"
        ) from error


def sweep(client: "DockerClient") -> list[str]:
    """Remove the containers of labs that are gone; return their names.

    Containers of another process namespace or machine (a lab that is in a container itself) are
    left alone: whether their lab lives cannot be seen from here.
    """
    removed = []
    for container in client.containers.list(
        all=True, filters={"label": LABEL_OWNER}, ignore_removed=True
    ):
        if _is_orphan(str(container.labels.get(LABEL_OWNER, ""))):
            remove(client, str(container.name))
            removed.append(str(container.name))
    return removed


def _knock(path: str) -> None:
    """Connect and hang up: the SDK leaves its socket open when nobody answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(REPLY_TIMEOUT_S)
        client.connect(path)


def _here() -> str:
    boot = BOOT_ID.read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def _is_orphan(label: str) -> bool:
    words = label.rsplit(" ", 2)
    if len(words) != 3 or not words[1].isdigit():
        return False
    boot, _, namespace = words[0].partition(" ")
    here_boot, _, here_namespace = _here().partition(" ")
    if boot != here_boot:
        return True  # Nothing survives a reboot; the container itself is stopped.
    if namespace != here_namespace:
        return False
    try:
        created = psutil.Process(int(words[1])).create_time()
    except psutil.NoSuchProcess:
        return True
    return abs(created - float(words[2])) > 1
