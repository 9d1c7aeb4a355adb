"""What a plan is run on: cores, machines, what lies between them."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What lies between any two machines.

    Attributes:
        latency_ns: from the call that sends to the return of the call that receives, of a message
            without content.
        bytes_per_ns: that a machine can send; its messages leave one after the other.
        header_bytes: of each message, beside the state that it carries.
    """

    latency_ns: float
    bytes_per_ns: float
    header_bytes: int

    def sending_ns(self, nbytes: int) -> float:
        """Return how long a message occupies the machine that sends it."""
        return (nbytes + self.header_bytes) / self.bytes_per_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Machines that are alike, each with its share of the workers, neighbours together.

    Attributes:
        cores: of each machine; each takes one worker at a time.
        machines: how many.
        switch_ns: what it takes to give a core to a worker that waits for one.
        slice_ns: after so long a worker gives its core to one that waits for one.
        memory_bytes_per_ns: that the cores of a machine can read together; None: no bound.
        network: None: there is one machine.
    """

    UNKNOWN_SLICE_NS: ClassVar[float] = 3e6
    """Where the kernel does not tell its slice: 2.8 to 3 ms is that of Linux 6.6 and later with 8
    cores or more (0.7 ms times 1 + log2 of the cores). It counts where work between two
    synchronizations is longer."""

    cores: int
    machines: int = 1
    switch_ns: float = 0.0
    slice_ns: float = UNKNOWN_SLICE_NS
    memory_bytes_per_ns: float | None = None
    network: Network | None = None

    def __post_init__(self) -> None:
        if self.cores < 1 or self.machines < 1:
            raise ValueError(f"{self.machines} machines of {self.cores} cores: each at least 1")
        if self.machines > 1 and self.network is None:
            raise ValueError(f"{self.machines} machines need a network")
        if self.slice_ns <= 0:
            raise ValueError(f"slice_ns is {self.slice_ns}; it must be above 0")

    def home(self, worker: int, workers: int) -> int:
        """Return the machine of a worker, of so many."""
        return worker * self.machines // workers if workers >= self.machines else worker
