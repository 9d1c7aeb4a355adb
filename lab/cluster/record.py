"""Reads and writes the record of a started cluster, `cluster.json` in the cluster's folder."""

from pathlib import Path

import msgspec

from streamlab.engines.clusters import ClusterPlan
from streamlab.lab.errors import ClusterError
from streamlab.workloads.default_folders import clusters

_FILE = "cluster.json"


class StartedDaemon(msgspec.Struct, frozen=True, kw_only=True):
    """A daemon that was started.

    Attributes:
        pid: id of the daemon's process, which leads a session (setsid(2)).
        started: creation time of the process, in seconds since the epoch; it differs for a later process with this id.
    """

    name: str
    pid: int
    started: float


class ClusterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A started cluster.

    Attributes:
        engine: name of the engine, or of the broker.
        address: address to which tasks connect.
        plan: addresses and sizes of the daemons.
        daemons: the daemons that were started so far.
        namespaces: names of the network namespaces that were created for the cluster.
    """

    engine: str
    address: str
    plan: ClusterPlan
    daemons: tuple[StartedDaemon, ...] = ()
    namespaces: tuple[str, ...] = ()


def folder_of(engine: str) -> Path:
    """Return the folder of an engine's cluster."""
    return clusters() / engine


def write_record(record: ClusterRecord) -> None:
    """Write a record to the cluster's folder."""
    (record.plan.folder / _FILE).write_bytes(msgspec.json.encode(record, enc_hook=str))


def read_record(engine: str) -> ClusterRecord | None:
    """Return the record of an engine's cluster; None if the engine has none.

    Raises:
        ClusterError: the file is damaged.
    """
    path = folder_of(engine) / _FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(
            content, type=ClusterRecord, dec_hook=lambda kind, text: kind(text)
        )
    except msgspec.DecodeError as error:
        raise ClusterError(
            f"{path}: {error}; end the cluster's processes, and remove the folder"
        ) from error


def recorded_engines() -> list[str]:
    """Return the engines that have a cluster."""
    return sorted(path.parent.name for path in clusters().glob(f"*/{_FILE}"))
