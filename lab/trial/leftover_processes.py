"""What an engine left running after it was told to close."""

import threading
import time

from streamlab.lab.measure.tree import descendants

# An engine that has been told to close may need a moment until its processes are gone.
CLOSE_GRACE_S = 2.0


def left_behind(
    threads_before: set[threading.Thread], processes_before: frozenset[int]
) -> list[str]:
    """Say which child processes and threads are still there after a moment of grace.

    Those that were there before are not the engine's, which a trial of its own process has none of.

    Threads that did not come from Python's `threading` are not seen; the conformance suite counts
    those.
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
