"""A real container engine for tests: Podman's service on a socket of its own, with its own storage.

No registry is needed: images are imported. The image for most tests is a few empty folders; the
engine mounts this machine's interpreter, environment and source into every container, read-only and
at their own paths, so that it holds exactly the code under test and is made in half a second.
"""

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.isolate.source import source_digest

SOURCE = Path(__file__).resolve().parents[3]
PROGRAMS = ("podman", "runc")

# crun refuses hybrid control groups, and without systemd there is no journal and no scope.
SETTINGS = """\
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
volumes = [{volumes}]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class NoEngineError(Exception):
    """No engine can be started on this machine; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A running engine: where it answers, how to call it without its service, and the service."""

    address: str
    command: tuple[str, ...]
    environ: Mapping[str, str]
    service: "subprocess.Popen[bytes]"

    def run(self, *arguments: str, stdin: bytes | None = None, **more) -> str:
        """Run one Podman command on this engine's storage and return its output."""
        done = subprocess.run(
            [*self.command, *arguments],
            input=stdin,
            capture_output=True,
            env=self.environ,
            check=False,
            **more,
        )
        if done.returncode != 0:
            raise NoEngineError(f"podman {arguments[0]} failed: {done.stderr.decode()[-1000:]}")
        return done.stdout.decode()

    def containers(self) -> list[str]:
        """Return the names of all containers, stopped ones included."""
        return self.run("ps", "--all", "--format", "{{.Names}}").split()

    def import_image(self, name: str, *, label: str | None = None, python: bool = True) -> str:
        """Make the image for tests; `label` None: that of the source as it is now."""
        changes = [
            f"WORKDIR {SOURCE}",
            f"LABEL lab.source={source_digest() if label is None else label}",
            f"ENV PATH={Path(sys.prefix) / 'bin'}:/usr/bin:/bin" if python else "ENV PATH=/nowhere",
        ]
        flags = [word for change in changes for word in ("--change", change)]
        self.run("import", *flags, "-", f"localhost/{name}", stdin=_skeleton())
        return name


@contextmanager
def podman(folder: Path, *, shares_machine: bool = True) -> Iterator[Engine]:
    """Run an engine below `folder`; nothing of it is left afterwards.

    Args:
        folder: where it has its storage.
        shares_machine: mount this machine's interpreter and source into every container, and try
            one; without it images have to be complete.

    Raises:
        NoEngineError: it cannot be started here.
    """
    for program in PROGRAMS:
        if shutil.which(program) is None:
            raise NoEngineError(f"no {program}; remedy: apt-get install -y {' '.join(PROGRAMS)}")
    settings = folder / "containers.conf"
    shared = _mounted() if shares_machine else []
    volumes = ", ".join(f'"{path}:{path}:ro"' for path in shared)
    settings.write_text(SETTINGS.format(volumes=volumes))
    root = folder / "storage"
    # Podman takes a runroot of 50 characters at most, and a socket's path has 107.
    short = Path(tempfile.mkdtemp(prefix="lab-podman-", dir="/tmp"))
    socket = short / "podman.sock"
    address = f"unix://{socket}"
    command = ("podman", "--root", str(root), "--runroot", str(short / "run"))
    environ = {**os.environ, "CONTAINERS_CONF": str(settings)}
    log = folder / "service.log"
    with log.open("wb") as output:
        service = subprocess.Popen(
            [*command, "system", "service", "--time=0", address],
            env=environ,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            # Where a container is killed for memory, its monitor leaves a file called oom.
            cwd=folder,
        )
    engine = Engine(address=address, command=command, environ=environ, service=service)
    try:
        _wait_for(socket, service, log)
        if shares_machine:
            _try(engine)
        yield engine
    finally:
        service.terminate()
        service.wait(timeout=600)
        for arguments in (("rm", "--all", "--force"), ("rmi", "--all", "--force")):
            subprocess.run(
                [*engine.command, *arguments], env=engine.environ, capture_output=True, check=False
            )
        # Podman leaves its storage mounted onto itself.
        subprocess.run(["umount", str(root / "overlay")], capture_output=True, check=False)
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(short, ignore_errors=True)


def _wait_for(socket: Path, service: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 600
    while not socket.exists():
        if service.poll() is not None or time.monotonic() > deadline:
            raise NoEngineError(f"podman's service does not start: {log.read_text()[-1000:]}")
        time.sleep(0.05)


def _try(engine: Engine) -> None:
    """Start one container through the SDK: a service that answers may still run nothing."""
    import docker

    image = engine.import_image("lab-try")
    client = docker.DockerClient(base_url=engine.address)
    try:
        container = client.containers.create(
            image, ["/bin/sh", "-c", "exit 7"], network_mode="none"
        )
        container.start()
        code = container.wait()["StatusCode"]
        container.remove(force=True)
    except docker.errors.DockerException as error:
        raise NoEngineError(f"podman cannot run a container here: {error}") from error
    finally:
        client.close()
    if code != 7:
        raise NoEngineError(f"a container that exits with 7 exits with {code}")


def _mounted() -> list[Path]:
    """Return the outermost folders that a trial needs of this machine."""
    expected = {Path("/usr"), SOURCE, Path(sys.prefix), Path(sys.base_prefix)}
    expected.add(Path(sysconfig.get_path("stdlib")).parent)
    expected |= {
        Path(f"/{name}") for name in _loader_folders() if not Path(f"/{name}").is_symlink()
    }
    return sorted(path for path in expected if not any(other in path.parents for other in expected))


def _loader_folders() -> list[str]:
    return [name for name in ("bin", "lib", "lib32", "lib64") if Path(f"/{name}").exists()]


def _skeleton() -> bytes:
    """Return a root file system without files: mount points, and this machine's links to them."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in ("usr", "tmp", "proc", "sys", "dev", "etc", "root"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name in _loader_folders():
            if Path(f"/{name}").is_symlink():
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
                tar.addfile(entry)
    return data.getvalue()
