"""
Micro-benchmarks of the multicore engine's core; core_bench is the same set as a program.
"""



def names() -> list[str]:
    """Names of all benchmarks, in a fixed order."""

def unit(name: str) -> str:
    """The unit of a benchmark's n."""

def default_n(name: str) -> int:
    """The n at which a benchmark's instructions are counted."""

def spent_s() -> float:
    """
    Seconds that this thread has spent inside benchmarks, without their set-up and the check of their answers.
    """

def run(name: str, n: int) -> int:
    """
    Runs a benchmark and returns its checksum. Raises ValueError for an unknown name or n below 1, and RuntimeError for a wrong checksum.
    """
