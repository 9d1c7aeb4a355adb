"""Defines the isolation settings of a matrix."""

import re
from dataclasses import dataclass

PROCESS = "process"
CONTAINER = "container"
KINDS = (PROCESS, CONTAINER)
IMAGE = "stream-lab"
"""The image that `make image` builds."""

_UNIT_BYTES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
SMALLEST_MEMORY_BYTES = 32 << 20
"""The lab refuses smaller limits: Python, NumPy and PyArrow already need more memory than this to load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """Isolation of a trial; all settings except `kind` are for containers only.

    Attributes:
        kind: PROCESS or CONTAINER.
        image: name of the container image.
        cpus: cores in the kernel's list format (`0-3,8`); None for the cores of the lab itself.
        memory: limit of memory and swap together, e.g. `512m` or `2g`; None for no limit.
    """

    kind: str = PROCESS
    image: str = IMAGE
    cpus: str | None = None
    memory: str | None = None

    def __post_init__(self) -> None:
        """Check the attributes."""
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; expected one of {', '.join(KINDS)}")
        if not self.image:
            raise ValueError("image is empty; expected the name of an image")
        if self.cpus is not None and re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", self.cpus) is None:
            raise ValueError(f"cpus is {self.cpus!r}; expected a list of cores such as 0-3,8")
        if self.memory is not None:
            memory_bytes(self.memory)

    @property
    def cores(self) -> int | None:
        """Return the number of a container's cores; None if the container may use the cores of the lab."""
        if self.kind != CONTAINER or self.cpus is None:
            return None
        spans = [[int(end) for end in span.split("-")] for span in self.cpus.split(",")]
        return len({core for span in spans for core in range(span[0], span[-1] + 1)})


def memory_bytes(text: str) -> int:
    """Return a memory limit such as `512m` in bytes; k, m and g are powers of 1024.

    Raises:
        ValueError: `text` is not a size, or below SMALLEST_MEMORY_BYTES.
    """
    match = re.fullmatch(r"(\d+)([bkmg]?)", text.lower())
    if match is None:
        raise ValueError(f"memory is {text!r}; expected a number with k, m or g, such as 2g")
    size = int(match[1]) * _UNIT_BYTES[match[2]]
    if size < SMALLEST_MEMORY_BYTES:
        raise ValueError(f"memory is {text!r}; expected {SMALLEST_MEMORY_BYTES >> 20}m or more")
    return size
