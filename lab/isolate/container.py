"""Runs one command in a container that sees only its image, its input and one folder.

The container has a read-only root file system, no network and no capabilities; mounts are read-only by default.
This module removes the container by name, since `--rm` loses output on Podman.
If this process is killed, its guard removes the container; if that fails, the next `streamlab.lab.isolate.check` does.
"""

import os
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlab.lab.errors import IsolationError
from streamlab.lab.host.installation import IMPORT_ROOT
from streamlab.lab.interrupt import check, interruptible
from streamlab.lab.isolate import docker, requests
from streamlab.lab.isolate.container_engine import (
    LABEL_OWNER,
    REPLY_TIMEOUT_S,
    connect,
    is_rootless,
    owner,
    remove,
)
from streamlab.lab.isolate.isolation import Isolation
from streamlab.lab.isolate.process import Outcome, oom_kills, supervise
from streamlab.workloads.default_folders import cache_folder

MAX_PROCESSES = 4096
"""Stops a fork bomb, but no engine: a Java virtual machine has about a hundred threads."""
_LOOK_S = 10.0
"""Period of checks for a lost signal while waiting; each check is work for the container engine."""
LOG = "/trial.log"
CACHE = "/cache"
"""Paths of the log and of the cache in the container."""

# A container's first process ignores signals for which it has no handler, so start a shell, not the trial.
# `exit` keeps the shell from replacing itself by the trial.
_SHELL = f'exec >> {LOG} 2>&1; "$@" < /dev/null; exit $?'


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A file or folder of this machine, and its path in the container."""

    host: Path
    target: str
    writable: bool = False


def run_contained(
    command: Sequence[str],
    *,
    isolation: Isolation,
    mounts: Sequence[Mount],
    log: Path,
    timeout_s: float,
    folder: Path | None = None,
    hidden: Sequence[str] = (),
    keeps_cache: bool = False,
) -> Outcome:
    """Run a command in a container, append its output to `log`, and remove the container.

    Also cleans up after an exception, or if this process is killed; see `streamlab.lab.isolate.process.run_isolated`.
    Processes that outlive the command end with the container; `Outcome.leftovers` omits these processes.
    If a signal killed the command, the return code is negative.
    `keeps_cache` keeps compiled code between trials. Folders in `hidden` look empty.

    Raises:
        IsolationError: the container engine could not start the container, or lost the container.
    """
    deadline = time.monotonic() + timeout_s
    log.touch()
    mounts = [*mounts, Mount(host=log, target=LOG, writable=True)]
    if keeps_cache:
        # This cache is separate from the lab's own, because the image has other compilers.
        cache = cache_folder() / "container"
        cache.mkdir(parents=True, exist_ok=True)
        mounts.append(Mount(host=cache, target=CACHE, writable=True))
    name = f"lab-trial-{uuid.uuid4().hex[:16]}"
    oom_before = oom_kills()
    client = connect()
    try:
        with supervise(
            folder=folder,
            on_death=[sys.executable, "-m", "streamlab.lab.isolate.container", name],
            env={"PYTHONPATH": os.pathsep.join([str(IMPORT_ROOT), *sys.path])},
        ):
            shell = ["/bin/sh", "-c", _SHELL, "lab", *command]
            code, timed_out, _ = _run(
                client, name, isolation, shell, mounts, deadline, hidden=hidden
            )
    finally:
        client.close()
    return Outcome(
        # A shell reports signal N as 128 + N, but `Outcome` as -N.
        returncode=128 - code if 128 < code <= 128 + 64 else code,
        timed_out=timed_out,
        oom_kills=0 if timed_out else oom_kills() - oom_before,
    )


def run_in(
    client: "docker.DockerClient", isolation: Isolation, command: Sequence[str]
) -> tuple[int, str]:
    """Run a short command with the limits of a trial and without mounts; return its exit code and output."""
    name = f"lab-probe-{uuid.uuid4().hex[:16]}"
    code, _, output = _run(
        client, name, isolation, command, (), time.monotonic() + REPLY_TIMEOUT_S, logs=True
    )
    return code, output


def _options(
    client: "docker.DockerClient",
    isolation: Isolation,
    mounts: Sequence[Mount],
    hidden: Sequence[str],
) -> dict[str, Any]:
    """Return the limits of a trial's container as options of the Docker SDK."""
    limits: dict[str, Any] = {
        "cpuset_cpus": isolation.cpus or ",".join(map(str, sorted(os.sched_getaffinity(0)))),
        "pids_limit": MAX_PROCESSES,
    }
    if isolation.memory is not None:
        # Equal limits leave no swap, because measuring a swapping trial would be useless.
        limits |= {"mem_limit": isolation.memory, "memswap_limit": isolation.memory}
    if not is_rootless(client):
        # Without capabilities even root cannot write files of other users, so run as this user.
        # With a rootless engine, the container's root is this user already.
        limits["user"] = f"{os.getuid()}:{os.getgid()}"
    return limits | {
        "network_mode": "none",
        "read_only": True,
        "tmpfs": {
            "/tmp": "rw,exec,nosuid,nodev,mode=1777",
            **dict.fromkeys(hidden, "ro,nosuid,nodev"),
        },
        "cap_drop": ["ALL"],
        # Without `label=disable`, SELinux refuses the mounts; elsewhere it has no effect.
        "security_opt": ["no-new-privileges", "label=disable"],
        "environment": {
            "HOME": "/tmp",
            "LAB_CACHE": CACHE if any(mount.target == CACHE for mount in mounts) else "/tmp/cache",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        "labels": {LABEL_OWNER: owner()},
        "mounts": [
            docker.types.Mount(
                target=mount.target,
                source=str(mount.host.absolute()),
                type="bind",
                read_only=not mount.writable,
            )
            for mount in mounts
        ],
    }


def _run(
    client: "docker.DockerClient",
    name: str,
    isolation: Isolation,
    command: Sequence[str],
    mounts: Sequence[Mount],
    deadline: float,
    *,
    hidden: Sequence[str] = (),
    logs: bool = False,
) -> tuple[int, bool, str]:
    """Run a container; return its exit code, whether it timed out, and its output if `logs`."""
    try:
        container = client.containers.create(
            isolation.image,
            list(command),
            name=name,
            **_options(client, isolation, mounts, hidden),
        )
        container.start()
        timed_out = not _await_end(container, deadline)
        if timed_out:
            container.kill()
        code = int(container.wait(timeout=REPLY_TIMEOUT_S)["StatusCode"])
        output = container.logs().decode(errors="replace") if logs else ""
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise IsolationError(
            f"the container engine could not run image {isolation.image!r}: {error}"
        ) from error
    finally:
        # Remove by name: an interrupt may come before `create` returns the container.
        remove(client, name)
    return code, timed_out, output


def _await_end(container: "docker.models.containers.Container", deadline: float) -> bool:
    """Wait until a container ends or the deadline; return whether it ended."""
    while (left_s := deadline - time.monotonic()) > 0:
        check()
        wait_s = min(left_s, _LOOK_S)
        began = time.monotonic()
        try:
            with interruptible():
                container.wait(timeout=wait_s)
            return True
        except (requests.exceptions.ReadTimeout, requests.exceptions.ConnectionError):
            # On a Unix socket, the SDK reports a timeout as either error.
            container.reload()
            if container.status in ("exited", "stopped", "dead"):
                return True
            if time.monotonic() - began < wait_s / 2:
                time.sleep(0.1)  # The connection was lost before the timeout.
    return False


if __name__ == "__main__":
    remove(connect(), sys.argv[1])
