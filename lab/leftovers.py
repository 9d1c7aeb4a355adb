"""What an engine left running after it was told to close."""

import threading
import time

from lab.measure.tree import descendants

# An engine that has been told to close may need a moment until its processes are gone.
CLOSE_GRACE_S = 2.0


def left_behind(threads_before: set[threading.Thread]) -> list[str]:
    """Say which child processes and threads are still there after a moment of grace.

    Threads that did not come from Python's `threading` are not seen; the conformance suite counts
    those.
    """
    deadline = time.monotonic() + CLOSE_GRACE_S
    while True:
        processes = descendants()
        threads = [t for t in threading.enumerate() if t not in threads_before and t.is_alive()]
        if not (processes or threads) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    doubts = []
    if processes:
        doubts.append(f"the engine left processes: {', '.join(str(p.pid) for p in processes)}")
    if threads:
        doubts.append(f"the engine left threads: {', '.join(t.name for t in threads)}")
    return doubts
