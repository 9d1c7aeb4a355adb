"""Creates network namespaces, so that processes on one machine have addresses as if on several machines.

A bridge on this machine has the first address of a network, and each namespace has one of the following addresses
(network_namespaces(7), bridge(8)). Creating them needs root.
"""

import ipaddress
import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from streamlab.lab.errors import ClusterError

_NETWORKS = [ipaddress.IPv4Network(f"10.213.{number}.0/24") for number in range(256)]
"""Private networks to choose from (RFC 1918)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Addresses of a cluster.

    Attributes:
        host: address of this machine in the network.
        workers: addresses of the workers.
        namespaces: names of the workers' namespaces; empty if all workers run in this machine's own namespace.
    """

    host: str
    workers: tuple[str, ...]
    namespaces: tuple[str, ...] = ()


def loopback(workers: int) -> Network:
    """Return addresses of the loopback interface; all of 127.0.0.0/8 belongs to this machine."""
    return Network(
        host="127.0.0.1", workers=tuple(f"127.0.0.{index}" for index in range(2, workers + 2))
    )


def create_namespaces(name: str, workers: int) -> Network:
    """Create a bridge and a network namespace for each worker.

    Args:
        name: prefix of the names of interfaces and namespaces, at most 8 characters.
        workers: number of workers, at most 250.

    Raises:
        ClusterError: this process is not root, `ip` is missing, or a command failed; nothing is left.
    """
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise ClusterError(
            "network namespaces need root and the command `ip` (package iproute2); "
            "use --network loopback"
        )
    network = _free_network()
    hosts = network.hosts()
    host, *addresses = (str(next(hosts)) for _ in range(workers + 1))
    namespaces = tuple(f"lab-{name}-{number}" for number in range(1, workers + 1))
    bridge = f"lab-{name}"
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{host}/{network.prefixlen}", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for namespace, worker in zip(namespaces, addresses, strict=True):
            _ip("netns", "add", namespace)
            _ip("link", "add", namespace, "type", "veth", "peer", "eth0", "netns", namespace)
            _ip("link", "set", namespace, "master", bridge, "up")
            in_namespace = ("-n", namespace)
            _ip(*in_namespace, "addr", "add", f"{worker}/{network.prefixlen}", "dev", "eth0")
            _ip(*in_namespace, "link", "set", "eth0", "up")
            _ip(*in_namespace, "link", "set", "lo", "up")
    except BaseException:
        remove_namespaces(name, namespaces)
        raise
    return Network(host=host, workers=tuple(addresses), namespaces=namespaces)


def remove_namespaces(name: str, namespaces: Sequence[str]) -> None:
    """Remove the namespaces and the bridge of `create_namespaces`, if they exist."""
    if not namespaces:
        return
    for namespace in namespaces:
        _ip("netns", "delete", namespace, check=False)
    _ip("link", "delete", f"lab-{name}", check=False)


def set_bridge(name: str, *, up: bool) -> None:
    """Connect the namespaces of `create_namespaces` with each other and this machine, or disconnect them."""
    _ip("link", "set", f"lab-{name}", "up" if up else "down")


def free_ports(host: str) -> tuple[int, int]:
    """Return two unused TCP ports of an address."""
    with socket.socket() as socket_a, socket.socket() as socket_b:
        for port_socket in (socket_a, socket_b):
            port_socket.bind((host, 0))
        return socket_a.getsockname()[1], socket_b.getsockname()[1]


def _free_network() -> ipaddress.IPv4Network:
    used_addresses = [
        ipaddress.ip_address(address.address)
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET
    ]
    for network in _NETWORKS:
        if not any(address in network for address in used_addresses):
            return network
    raise ClusterError("all networks 10.213.0.0/24 to 10.213.255.0/24 are in use here")


def _ip(*words: str, check: bool = True) -> None:
    result = subprocess.run(
        ["ip", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if check and result.returncode != 0:
        raise ClusterError(
            f"`ip {' '.join(words)}` failed: {result.stderr.strip()}; use --network loopback"
        )
