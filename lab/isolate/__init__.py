"""Isolates trials from the lab and from each other, in processes or containers.

Modules of this package import `docker` and `requests`, the client of container engines, from here.
Both packages are optional, and most runs need no container, so the packages load at their first use.
"""

from typing import TYPE_CHECKING

from streamlab.workloads.optional_packages import LazyModule

if TYPE_CHECKING:
    import docker
    import docker.errors
    import docker.models.containers
    import docker.models.images
    import docker.types
    import requests
    import requests.exceptions

__all__ = ["docker", "requests"]

if not TYPE_CHECKING:
    docker, requests = LazyModule("docker"), LazyModule("requests")
