"""Whether trials can run in containers as asked: checked before anything is measured."""

import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlab.lab.isolate.container import run_in
from streamlab.lab.isolate.engine import BOOT_ID, address_of, connect, sweep
from streamlab.lab.isolate.errors import IsolationError
from streamlab.lab.isolate.isolation import IMAGE, Isolation
from streamlab.lab.isolate.source import source_digest

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.images import Image

LABEL_SOURCE = "lab.source"

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
    """What was found: for a run's provenance.

    Attributes:
        engine: name and version, e.g. `Podman Engine 4.3.1`.
        address: where it answers.
        image_id: the image's own hash.
    """

    engine: str
    address: str
    image_id: str


def check(isolation: Isolation) -> Facts:
    """Check, before anything is measured, that trials can run in containers as asked.

    Also removes containers that a killed lab has left.

    Raises:
        IsolationError: no engine, no image, an image of another source, or a container with these
            limits cannot be started; the message says what to do.
    """
    client = connect()
    try:
        image = _image(client, isolation)
        _probe(client, isolation)
        # Only now is it certain that the engine's containers are those of labs on this machine.
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


def check_holds(isolation: Isolation, workloads: Sequence[str], engines: Sequence[str]) -> None:
    """Check that an image has workloads and engines that are not the lab's own.

    Args:
        isolation: with the image.
        workloads: references to them; files are not meant, which are mounted.
        engines: names of them.

    Raises:
        IsolationError: it has not; the message names the first one.
    """
    asked = json.dumps({"workload": list(workloads), "engine": list(engines)})
    client = connect()
    try:
        code, said = run_in(client, isolation, ["python", "-c", _FIND, asked])
    finally:
        client.close()
    found = re.findall(r"^lacks (workload|engine) (.*)", said, flags=re.MULTILINE)
    if code == 0 and not found:
        return
    if not found:
        raise IsolationError(
            f"image {isolation.image!r} cannot load {asked} (code {code}, it said: {said[-200:]!r})"
        )
    what, why = found[0]
    remedy = "name it by the path of its file, or install" if what == "workload" else "install"
    raise IsolationError(
        f"the image {isolation.image!r} lacks {what} {why}; {remedy} it in an image that is built "
        f'FROM {isolation.image}, or use isolate = "process"'
    )


def build_command(image: str) -> str:
    """Return the command that builds the image from this source."""
    return "make image" if image == IMAGE else f"make image IMAGE={shlex.quote(image)}"


def _image(client: "DockerClient", isolation: Isolation) -> "Image":
    from docker.errors import APIError, ImageNotFound

    remedy = f"build it with `{build_command(isolation.image)}`"
    try:
        image = client.images.get(isolation.image)
    except ImageNotFound as error:
        raise IsolationError(
            f'isolate = "container": the engine has no image {isolation.image!r}; {remedy}'
        ) from error
    except APIError as error:
        raise IsolationError(
            f'isolate = "container": cannot look up image {isolation.image!r}: {error}'
        ) from error
    found, wanted = image.labels.get(LABEL_SOURCE), source_digest()
    if found != wanted:
        holds = f"source {found[:12]}" if found else f"no label {LABEL_SOURCE}"
        raise IsolationError(
            f"image {isolation.image!r} has {holds}, the lab is source {wanted[:12]}: its trials "
            f"would measure other code; {remedy}"
        )
    return image


def _probe(client: "DockerClient", isolation: Isolation) -> None:
    """Start a container with the limits of a trial that says which kernel it is on."""
    code, said = run_in(client, isolation, ["/bin/sh", "-c", f"cat {BOOT_ID}; command -v python"])
    lines = said.split()
    if code != 0 or len(lines) != 2:
        raise IsolationError(
            f"image {isolation.image!r} cannot run trials: it has no python on its PATH, or no "
            f"sh and cat (code {code}, it said: {said.strip()[-200:]!r}); build it with "
            f"`{build_command(isolation.image)}`"
        )
    if lines[0] != BOOT_ID.read_text(encoding="ascii").strip():
        raise IsolationError(
            "the container engine runs on another kernel (a remote or virtual machine): clocks and "
            'files are not shared with the lab; run the lab there, or use isolate = "process"'
        )
