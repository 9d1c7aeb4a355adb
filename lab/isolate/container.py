"""Runs one command in a container that sees nothing but its image, its input and one folder.

The root file system is read-only, there is no network, every capability is dropped, and what is
mounted is mounted read-only unless it says otherwise. The container is not the engine's to remove
(`--rm` loses output on Podman): it is waited for and then removed by name, whatever happens; when
this process is killed, by its guard; when even that fails, by the next `streamlab.lab.isolate.check`.
"""

import os
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlab.lab.host.installation import IMPORT_ROOT
from streamlab.lab.interrupt import check, interruptible
from streamlab.lab.isolate.engine import (
    LABEL_OWNER,
    REPLY_TIMEOUT_S,
    connect,
    is_rootless,
    owner,
    remove,
)
from streamlab.lab.isolate.errors import IsolationError
from streamlab.lab.isolate.isolation import Isolation
from streamlab.lab.isolate.process import Outcome, guarded, oom_kills
from streamlab.workloads.default_folders import cache_folder

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

# A Java virtual machine has some hundred threads; this stops a fork bomb, not an engine.
MOST_PROCESSES = 4096
# A wait looks so often whether a signal was lost; each look is work for the engine.
_LOOK_S = 10.0
LOG = "/trial.log"
CACHE = "/cache"

# The first process of a container ignores signals that it has no handler for, and would take the
# trial's place in the log when it dies; so it is a shell. `exit` keeps it from becoming the trial.
_SHELL = f'exec >> {LOG} 2>&1; "$@" < /dev/null; exit $?'


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A file or folder of this machine, and where the container sees it."""

    host: Path
    inside: str
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
    """Run a command in a container, its output appended to `log`; the container is gone afterwards.

    The same promises as `streamlab.lab.isolate.process.run_isolated`: also when this is left by an exception
    or this process is killed. What the command leaves running ends with it, and is not in `left`.
    A command that was killed by a signal has a negative return code, as there.

    Args:
        command: what to run; found on the image's PATH.
        isolation: image and limits.
        mounts: what it may see.
        log: its standard output and error, written as it goes.
        timeout_s: it is killed after so long, the container's own start included.
        folder: removed when this process is killed.
        hidden: folders of what is mounted that are empty to it.
        keeps_cache: it keeps compiled code in the lab's cache from trial to trial.

    Raises:
        IsolationError: the engine could not start it, or lost it.
    """
    deadline = time.monotonic() + timeout_s
    log.touch()
    mounts = [*mounts, Mount(host=log, inside=LOG, writable=True)]
    if keeps_cache:
        # Separate from the lab's own cache: the image has other versions of the compilers.
        cache = cache_folder() / "container"
        cache.mkdir(parents=True, exist_ok=True)
        mounts.append(Mount(host=cache, inside=CACHE, writable=True))
    name = f"lab-trial-{uuid.uuid4().hex[:16]}"
    oom_before = oom_kills()
    client = connect()
    try:
        with guarded(
            folder,
            [sys.executable, "-m", "streamlab.lab.isolate.container", name],
            {"PYTHONPATH": os.pathsep.join([str(IMPORT_ROOT), *sys.path])},
        ):
            code, timed_out, _ = _run(
                client,
                name,
                isolation,
                ["/bin/sh", "-c", _SHELL, "lab", *command],
                mounts,
                deadline,
                hidden=hidden,
            )
    finally:
        client.close()
    return Outcome(
        returncode=_as_process(code),
        timed_out=timed_out,
        oom_kills=0 if timed_out else oom_kills() - oom_before,
        left=(),
    )


def run_in(client: "DockerClient", isolation: Isolation, command: Sequence[str]) -> tuple[int, str]:
    """Run a short command with the limits of a trial and no mounts; its code and what it printed.

    Raises:
        IsolationError: the engine could not start it, or it did not end.
    """
    name = f"lab-probe-{uuid.uuid4().hex[:16]}"
    code, _, said = _run(
        client, name, isolation, command, (), time.monotonic() + REPLY_TIMEOUT_S, logs=True
    )
    return code, said


def options(
    client: "DockerClient",
    isolation: Isolation,
    mounts: Sequence[Mount],
    hidden: Sequence[str] = (),
) -> Mapping[str, Any]:
    """Return the limits of a trial's container, as the Docker SDK takes them."""
    from docker.types import Mount as EngineMount

    limits: dict[str, Any] = {
        "cpuset_cpus": isolation.cpus or ",".join(map(str, sorted(os.sched_getaffinity(0)))),
        "pids_limit": MOST_PROCESSES,
    }
    if isolation.memory is not None:
        # Equal limits leave no swap: a trial that swaps would be measured, and mean nothing.
        limits |= {"mem_limit": isolation.memory, "memswap_limit": isolation.memory}
    if not is_rootless(client):
        # Without capabilities even root may not write what belongs to somebody else. In a rootless
        # engine the container's root is this user already.
        limits["user"] = f"{os.getuid()}:{os.getgid()}"
    return limits | {
        "network_mode": "none",
        "read_only": True,
        "tmpfs": {
            "/tmp": "rw,exec,nosuid,nodev,mode=1777",
            **dict.fromkeys(hidden, "ro,nosuid,nodev"),
        },
        "cap_drop": ["ALL"],
        # The label keeps SELinux from refusing the mounts; elsewhere it means nothing.
        "security_opt": ["no-new-privileges", "label=disable"],
        "environment": {
            "HOME": "/tmp",
            "LAB_CACHE": CACHE if any(mount.inside == CACHE for mount in mounts) else "/tmp/cache",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        "labels": {LABEL_OWNER: owner()},
        "mounts": [
            EngineMount(
                target=mount.inside,
                source=str(mount.host.absolute()),
                type="bind",
                read_only=not mount.writable,
            )
            for mount in mounts
        ],
    }


def _run(
    client: "DockerClient",
    name: str,
    isolation: Isolation,
    command: Sequence[str],
    mounts: Sequence[Mount],
    deadline: float,
    *,
    hidden: Sequence[str] = (),
    logs: bool = False,
) -> tuple[int, bool, str]:
    """Return the exit code, whether the time was up, and what was printed if that was asked for."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        container = client.containers.create(
            isolation.image,
            list(command),
            name=name,
            **options(client, isolation, mounts, hidden),
        )
        container.start()
        timed_out = not _ends(container, deadline)
        if timed_out:
            container.kill()
        code = int(container.wait(timeout=REPLY_TIMEOUT_S)["StatusCode"])
        said = container.logs().decode(errors="replace") if logs else ""
    except (DockerException, RequestException) as error:
        raise IsolationError(
            f"the container engine could not run image {isolation.image!r}: {error}"
        ) from error
    finally:
        # By name: an interrupt may come between the engine's work and its answer.
        remove(client, name)
    return code, timed_out, said


def _ends(container: "Container", deadline: float) -> bool:
    """Wait until a container ends or the time is up; return whether it ended."""
    from requests.exceptions import ConnectionError as LostError
    from requests.exceptions import ReadTimeout

    while (left_s := deadline - time.monotonic()) > 0:
        check()
        wait_s = min(left_s, _LOOK_S)
        began = time.monotonic()
        try:
            with interruptible():
                container.wait(timeout=wait_s)
            return True
        except (ReadTimeout, LostError):
            # The SDK reports a wait that takes too long as either, on a Unix socket.
            container.reload()
            if container.status in ("exited", "stopped", "dead"):
                return True
            if time.monotonic() - began < wait_s / 2:
                time.sleep(0.1)  # The connection was lost, not the time up.
    return False


def _as_process(code: int) -> int:
    """Return an exit code of the shell as `subprocess` gives it: minus the signal, if by one."""
    return 128 - code if 128 < code <= 128 + 64 else code


if __name__ == "__main__":
    remove(connect(), sys.argv[1])
