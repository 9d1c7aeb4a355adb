"""The project's own Dockerfile, built by `make image` on a base image that is made here.

It takes minutes, most of them for the packages that it installs, so it is run on demand:
LAB_TEST_IMAGE=1. It needs root, a Debian mirror, and the package registry that pip is set up for.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streamlab.lab.isolate.check import LABEL_SOURCE, check
from streamlab.lab.isolate.container_engine import connect
from streamlab.lab.isolate.isolation import Isolation
from streamlab.lab.isolate.source import source_digest
from streamlab.lab.runner.launcher import run_trial
from tests.lab.engine_trial import engine_trial
from tests.lab.isolate.podman import SOURCE, NoEngineError, podman
from tests.processes import run_python

SUITE = "bookworm"
BUILD_TIMEOUT_S = 1800
NEEDED = ("podman", "runc", "debootstrap", "make")

pytestmark = [
    pytest.mark.container_image,
    pytest.mark.skipif(
        os.environ.get("LAB_TEST_IMAGE") != "1",
        reason="THE DOCKERFILE IS NOT BUILT: it takes minutes; set LAB_TEST_IMAGE=1",
    ),
    pytest.mark.skipif(
        os.geteuid() != 0 or any(shutil.which(program) is None for program in NEEDED),
        reason=f"THE DOCKERFILE IS NOT BUILT: needs root and {', '.join(NEEDED)}",
    ),
]


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    """An engine whose storage holds a minimal Debian as localhost/base."""
    folder = tmp_path_factory.mktemp("image")
    try:
        with podman(folder, shares_machine=False) as engine:
            root = folder / "root"
            include = "--include=python3,python3-venv,ca-certificates"
            subprocess.run(
                ["debootstrap", "--variant=minbase", include, SUITE, str(root)],
                check=True,
                capture_output=True,
                timeout=BUILD_TIMEOUT_S,
            )
            tar = subprocess.run(["tar", "-C", root, "-c", "."], check=True, capture_output=True)
            shutil.rmtree(root)
            engine.run("import", "-", "localhost/base", stdin=tar.stdout)
            yield engine
    except NoEngineError as error:
        pytest.skip(f"THE DOCKERFILE IS NOT BUILT: {error}")


def make_image(engine, folder: Path, image: str, *more: str) -> "subprocess.CompletedProcess[str]":
    """Run `make image` with this machine's package registry and the engine's storage."""
    wrapper = folder / "bin" / "podman"
    wrapper.parent.mkdir(exist_ok=True)
    command = " ".join([str(shutil.which("podman")), *engine.command[1:]])
    wrapper.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    wrapper.chmod(0o755)
    volumes = [f"{registry(folder)}:/etc/pip.conf:ro", "/etc/ssl/certs:/etc/ssl/certs:ro"]
    volumes += [f"{path}:{path}:ro" for path in local_registries(folder)]
    arguments = {
        "BASE": "localhost/base",
        "IMAGE": image,
        "PYTHON": sys.executable,
        "BUILD_ARGS": " ".join(
            ["--network host", *(f"--volume {each}" for each in volumes), *more]
        ),
    }
    return subprocess.run(
        ["make", "--no-print-directory", "image", *(f"{k}={v}" for k, v in arguments.items())],
        cwd=SOURCE,
        env={**engine.environ, "PATH": f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )


def registry(folder: Path) -> Path:
    """Write the settings of pip on this machine, from files and environment, as one file."""
    path = folder / "pip.conf"
    listed = run_python("-m", "pip", "config", "list", check=True)
    settings = {}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        # The environment outweighs the files.
        if name.startswith("global.") and f":env:.{name[7:]}" not in listed.stdout:
            settings[name[7:]] = value.strip("'")
        elif name.startswith(":env:."):
            settings[name[6:]] = value.strip("'")
    path.write_text("[global]\n" + "".join(f"{k} = {v}\n" for k, v in settings.items()))
    return path


def local_registries(folder: Path) -> list[str]:
    """Return the outermost folders that pip's settings name as places to find packages."""
    words = (folder / "pip.conf").read_text().split()
    named = [word for word in words if word.startswith(("/", "file:"))]
    paths = [Path(word.removeprefix("file://")) for word in named]
    folders = {"/".join(path.parts[:2]).replace("//", "/") for path in paths if path.is_dir()}
    return sorted(folders - {"/etc", "/usr"})


def test_image_of_the_dockerfile_runs_trials_of_this_source(
    builder, tmp_path, small_dataset, monkeypatch
):
    monkeypatch.setenv("DOCKER_HOST", builder.address)
    built = make_image(builder, tmp_path, "lab-built")
    assert built.returncode == 0, (built.stdout + built.stderr)[-3000:]

    client = connect()
    try:
        labels = client.images.get("lab-built").labels
    finally:
        client.close()
    assert labels[LABEL_SOURCE] == source_digest()
    check(Isolation(kind="container", image="lab-built", memory="2g"))

    for engine, variant in (("reference", "sequential"), ("multicore", "dgs")):
        spec = engine_trial(engine=engine, variant=variant, batch=64, dataset=small_dataset())
        isolation = Isolation(kind="container", image="lab-built", memory="2g")
        log = tmp_path / f"{engine}.log"
        row = run_trial(spec, log=log, timeout_s=300, isolate=isolation).columns
        assert row["status"] == "ok", (row, log.read_text())

    # A label that would be wrong is refused where it is made; the layers before it are kept.
    wrong = f"SOURCE_DIGEST={'0' * 64}"
    refused = make_image(builder, tmp_path, "lab-wrong", f"--build-arg {wrong}")
    assert refused.returncode != 0
    assert f"{wrong}, but the source is {source_digest()}" in refused.stdout + refused.stderr
