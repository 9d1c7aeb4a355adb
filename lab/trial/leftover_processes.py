"""Finds processes and threads that an engine left running after closing."""

import threading
import time

from streamlab.lab.measure.tree import descendants

# After closing, an engine's processes may need a moment to end.
CLOSE_GRACE_S = 2.0


def find_leftovers(
    threads_before: set[threading.Thread], processes_before: frozenset[int]
) -> list[str]:
    """Return warnings about child processes and threads that are still running after CLOSE_GRACE_S.

    Ignores those that existed before.
    Finds only threads of Python's `threading`; the conformance suite counts others.
    """
    deadline = time.monotonic() + CLOSE_GRACE_S
    while True:
        processes = [p for p in descendants() if p.pid not in processes_before]
        threads = [t for t in threading.enumerate() if t not in threads_before and t.is_alive()]
        if not (processes or threads) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    warnings = []
    if processes:
        warnings.append(f"the engine left processes: {', '.join(str(p.pid) for p in processes)}")
    if threads:
        warnings.append(f"the engine left threads: {', '.join(t.name for t in threads)}")
    return warnings
