"""A test that takes too long fails: what is slow is mended, or moved to `make test-all`.

Judged is the wall time of set-up and call, since that is what people wait for; a wait that costs no
processor time counts as well. What many tests share and one of them starts (Spark) is not counted.
On a busy machine every wall time is longer, so the limit grows with the load: by the one-minute
load average for each core, where that is above NOISE; above MOST_LOAD a core nothing is said. Two
processes that test on two quiet cores make a load of 2 to 3. Errs towards letting a test pass:
threads and children of the tests are part of the load.
"""

import math
import os

import pytest

LIMIT_S = 20.0
MOST_LOAD = 4.0
"""At 10 a core tests of 15 s on a quiet machine were seen to take 300 s: out of proportion."""

NOISE = 1.5
"""By so much the same test differs between two runs on a shared machine whose load says nothing:
23 and 36 s were seen of one. Without it a test of 15 s fails now and then."""

SET_UP_S = pytest.StashKey[float]()
SHARED_S = pytest.StashKey[float]()
"""What a fixture that starts something for many tests spent on that, in seconds."""


def limit_s(load, cores):
    """Return how long a test may take at a load average."""
    busy = max(NOISE, load / cores)
    return LIMIT_S * busy if busy <= MOST_LOAD else math.inf


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that passed and took too long, unless it is left to `make test-all`."""
    report = yield
    if report.when == "setup":
        item.stash[SET_UP_S] = report.duration - item.stash.get(SHARED_S, 0.0)
    elif report.when == "call" and report.passed and item.get_closest_marker("full") is None:
        took_s = item.stash[SET_UP_S] + report.duration
        load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
        if took_s > limit_s(load, cores):
            report.outcome = "failed"
            report.longrepr = (
                f"passed, but took {took_s:.1f} s; a test may take {limit_s(load, cores):.1f} s "
                f"({LIMIT_S:g} s, at a load of {load:.1f} on {cores} cores). Make it quicker, or "
                "leave it to `make test-all` with @pytest.mark.full."
            )
    return report
