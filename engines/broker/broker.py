"""Describes a Kafka broker on this machine: its environment, its process, and whether it answers."""

import os
import shlex
import socket
import struct
from pathlib import Path

from streamlab.engines import environment
from streamlab.engines.clusters import ClusterPlan, ClusterState, Daemon
from streamlab.engines.command_process import find_engine_java
from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineError

NAME = "kafka"
"""Name of the environment, and of the broker's folder."""
HERE = Path(__file__).parent
RECORDS = tuple(sorted((HERE / "java").rglob("[!.]*.java")))
"""Java classes that read records; the Java programs of engines use them."""
ANSWER_TIMEOUT_S = 2.0
"""A broker counts as not answering if it takes longer to accept a connection or to reply."""
_API_VERSIONS = 18
"""Kafka's number for the request ApiVersions, which brokers of all versions answer (Kafka protocol guide)."""
_CLUSTER_ID = "c3RyZWFtLWxhYi1rYWZrYQ"
"""Base64 of `stream-lab-kafka`: Kafka expects an id of 16 bytes."""


ENVIRONMENT = Environment(
    lock=HERE / "pom.xml",
    further=(HERE / "requirements.txt",),
    jars=HERE / "jars.sha256",
)


class KafkaBroker:
    """A cluster without workers: one process, which is broker and controller (KRaft)."""

    cluster_option = "broker"

    def cluster_daemons(self, plan: ClusterPlan) -> tuple[Daemon, ...]:
        """Return the broker's process, which formats its storage at the first start.

        Raises:
            EngineError: the broker's environment or Java is missing.
        """
        reason = environment.unusable_reason(NAME, ENVIRONMENT)
        if reason is not None:
            raise EngineError(reason)
        settings = plan.folder / "server.properties"
        settings.write_text(_properties(plan), encoding="utf-8")
        java = (
            str(find_engine_java(NAME).path / "bin" / "java"),
            *(f"-Xms{plan.memory_mb}m", f"-Xmx{plan.memory_mb}m"),
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
            *("-cp", str(environment.folder(NAME) / "jars" / "*")),
        )
        storage = (
            *(*java, "kafka.tools.StorageTool", "format", "--ignore-formatted"),
            *("--cluster-id", _CLUSTER_ID, "--config", str(settings)),
        )
        server = (*java, "kafka.Kafka", str(settings))
        script = f"{shlex.join(storage)} && exec {shlex.join(server)}"
        return (Daemon(name="broker", host=plan.host, command=("sh", "-c", script)),)

    def cluster_address(self, plan: ClusterPlan) -> str:
        """Return the address that clients connect to."""
        return f"{plan.host}:{plan.ports[0]}"

    def cluster_state(self, plan: ClusterPlan) -> ClusterState | None:
        """Return a state without workers if the broker answers; else None."""
        if not answers(self.cluster_address(plan)):
            return None
        return ClusterState(workers=0, cores=0, used_cores=0, applications=0)


BROKER = KafkaBroker()


def answers(address: str) -> bool:
    """Return whether a Kafka broker answers at `HOST:PORT`."""
    host, _, port = address.rpartition(":")
    correlation_id = os.getpid()
    request = struct.pack(">hhih", _API_VERSIONS, 0, correlation_id, -1)
    try:
        with socket.create_connection((host, int(port)), ANSWER_TIMEOUT_S) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            reply = connection.makefile("rb").read(8)
    except (OSError, ValueError):
        return False
    return len(reply) == 8 and struct.unpack(">ii", reply)[1] == correlation_id


def _properties(plan: ClusterPlan) -> str:
    client, controller = (f"{plan.host}:{port}" for port in plan.ports)
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{client},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{client}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": plan.folder / "data",
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        # A dataset's topics stay until the broker is stopped.
        "log.retention.ms": -1,
        # A controlled shutdown would look for another broker to take over the partitions.
        "controlled.shutdown.enable": "false",
        # Only compacted topics use this buffer; its default size is a quarter of a small heap.
        "log.cleaner.dedupe.buffer.size": 8 << 20,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
