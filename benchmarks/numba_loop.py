"""The hardware's limit for a sum: one single-threaded Numba loop per core, all cores at once.

As a program, prints one JSON object: `eps`, the rate over all cores in events/s.
"""

import json
import os
import threading
import time

import numba
import numpy as np

EVENTS_PER_CORE = 20_000_000
ROUNDS = 10


@numba.njit(nogil=True)
def total(values):
    """Sum a column as a user's loop would."""
    result = 0
    for i in range(len(values)):
        result += values[i]
    return result


def rate_eps(cores: int) -> float:
    """Return events/s summed by `cores` threads that start together, each over its own column."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 1000, EVENTS_PER_CORE) for _ in range(cores)]
    sums = [int(column.sum()) for column in columns]
    assert total(columns[0]) == sums[0]  # also compiles the loop
    barrier = threading.Barrier(cores + 1)
    right = [False] * cores

    def work(index: int) -> None:
        barrier.wait()
        right[index] = all(total(columns[index]) == sums[index] for _ in range(ROUNDS))
        barrier.wait()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(cores)]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.monotonic_ns()
    barrier.wait()
    duration_ns = time.monotonic_ns() - start
    for thread in threads:
        thread.join()
    if not all(right):
        raise ArithmeticError("a Numba sum is wrong")
    return cores * EVENTS_PER_CORE * ROUNDS / duration_ns * 1e9


if __name__ == "__main__":
    print(json.dumps({"eps": rate_eps(len(os.sched_getaffinity(0)))}))
