"""Checks before a run that its trials can run in containers."""

import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from streamlab.lab.errors import IsolationError
from streamlab.lab.isolate import docker
from streamlab.lab.isolate.container import run_in
from streamlab.lab.isolate.container_engine import BOOT_ID, address_of, connect, sweep
from streamlab.lab.isolate.isolation import IMAGE, Isolation
from streamlab.lab.isolate.source import source_digest

LABEL_SOURCE = "lab.source"
"""Label of an image; its value is the digest of the lab's source in the image (`streamlab.lab.isolate.source`)."""

_FIND = """
import json, sys
from streamlab.engines.registry import engine
from streamlab.workloads.registry import workload

for what, names in json.loads(sys.argv[1]).items():
    for name in names:
        try:
            {"engine": engine, "workload": workload}[what](name)
        except Exception as error:
            print(f"lacks {what} {name!r}: {error}")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts about the container engine, for a run's provenance."""

    engine: str
    address: str
    image_id: str


def check(isolation: Isolation) -> Facts:
    """Check that trials can run in containers, and remove containers of killed labs.

    Raises:
        IsolationError: no engine answers, the image is missing or has another source, or a container with these
            limits cannot start; the message has the remedy.
    """
    client = connect()
    try:
        image = _image(client, isolation)
        _probe(client, isolation)
        # `_probe` has shown that the engine's containers run on this machine.
        sweep(client)
        version = client.version()
        parts = version.get("Components") or [{"Name": "Engine", "Version": version["Version"]}]
        return Facts(
            engine=f"{parts[0]['Name']} {parts[0]['Version']}",
            address=address_of(os.environ),
            image_id=str(image.id),
        )
    finally:
        client.close()


def check_contains(isolation: Isolation, workloads: Sequence[str], engines: Sequence[str]) -> None:
    """Check that an image contains the user's workloads and engines.

    Files of workloads are mounted, so `workloads` has only names.

    Raises:
        IsolationError: a workload or engine is missing; the message names the first one.
    """
    names = json.dumps({"workload": list(workloads), "engine": list(engines)})
    client = connect()
    try:
        code, output = run_in(client, isolation, ["python", "-c", _FIND, names])
    finally:
        client.close()
    missing_items = re.findall(r"^lacks (workload|engine) (.*)", output, flags=re.MULTILINE)
    if code == 0 and not missing_items:
        return
    if not missing_items:
        raise IsolationError(
            f"image {isolation.image!r} cannot load {names} (code {code}, output: {output[-200:]!r})"
        )
    kind, reason = missing_items[0]
    remedy = "name it by the path of its file, or install" if kind == "workload" else "install"
    raise IsolationError(
        f"the image {isolation.image!r} lacks {kind} {reason}; {remedy} it in an image built "
        f'FROM {isolation.image}, or use isolate = "process"'
    )


def build_command(image: str) -> str:
    """Return the command that builds the image from this source."""
    return "make image" if image == IMAGE else f"make image IMAGE={shlex.quote(image)}"


def _image(client: "docker.DockerClient", isolation: Isolation) -> "docker.models.images.Image":
    """Return the image of trials; refuse a missing image, or one with another source than this lab's."""
    remedy = f"build it with `{build_command(isolation.image)}`"
    try:
        image = client.images.get(isolation.image)
    except docker.errors.ImageNotFound as error:
        raise IsolationError(
            f'isolate = "container": the engine has no image {isolation.image!r}; {remedy}'
        ) from error
    except docker.errors.APIError as error:
        raise IsolationError(
            f'isolate = "container": cannot look up image {isolation.image!r}: {error}'
        ) from error
    image_digest, lab_digest = image.labels.get(LABEL_SOURCE), source_digest()
    if image_digest != lab_digest:
        content = f"source {image_digest[:12]}" if image_digest else f"no label {LABEL_SOURCE}"
        raise IsolationError(
            f"image {isolation.image!r} has {content}, the lab is source {lab_digest[:12]}: its trials "
            f"would measure other code; {remedy}"
        )
    return image


def _probe(client: "docker.DockerClient", isolation: Isolation) -> None:
    """Start a container with the limits of a trial, and check that it runs on this kernel."""
    code, output = run_in(client, isolation, ["/bin/sh", "-c", f"cat {BOOT_ID}; command -v python"])
    lines = output.split()
    if code != 0 or len(lines) != 2:
        raise IsolationError(
            f"image {isolation.image!r} cannot run trials: it has no python on its PATH, or no "
            f"sh and cat (code {code}, output: {output.strip()[-200:]!r}); build it with "
            f"`{build_command(isolation.image)}`"
        )
    if lines[0] != BOOT_ID.read_text(encoding="ascii").strip():
        raise IsolationError(
            "the container engine runs on another kernel (a remote or virtual machine): clocks and "
            'files are not shared with the lab; run the lab there, or use isolate = "process"'
        )
