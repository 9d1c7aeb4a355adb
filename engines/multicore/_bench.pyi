"""
Micro-benchmarks of the multicore engine's core; core_bench is the same set as a program.
"""



def names() -> list[str]:
    """Names of all benchmarks, in a fixed order."""

def unit(name: str) -> str:
    """What a benchmark's n counts."""

def default_n(name: str) -> int:
    """The n at which a benchmark's instructions are counted."""

def spent_s() -> float:
    """
    Seconds that this thread has spent inside benchmarks, without their set-up and the check of their answers.
    """

def run(name: str, n: int) -> int:
    """
    Runs a benchmark and returns its checksum. ValueError: no such benchmark, or n below 1; RuntimeError: the checksum is wrong.
    """
