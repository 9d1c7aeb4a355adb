"""Isolates trials from the lab and from each other, in processes or containers.

Modules below import the client of container engines (`docker`, `requests`) from here, which loads it at its first use:
it is an optional package, and most runs need no container.
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
