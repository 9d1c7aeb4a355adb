"""Lists the tests that take too long: what is slow is mended, or left to `make test-all`.

Judged is the wall time of set-up and call, since that is what people wait for; a wait that costs no
processor time counts as well. What many tests share and one of them starts (Spark) is not counted.
None fails by it: a slow or busy machine makes any test long. So that the list is short there too,
the limit grows with the load: by the one-minute load average for each core, where that is above
NOISE; above MAX_LOAD a core nothing is said. Two processes that test on two quiet cores make a
load of 2 to 3. Errs towards saying nothing: threads and children of the tests are part of the load.
"""

import math
import os

import pytest

LIMIT_S = 20.0
MAX_LOAD = 4.0
"""At 10 a core tests of 15 s on a quiet machine were seen to take 300 s: out of proportion."""

NOISE = 1.5
"""By so much the same test differs between two runs on a shared machine whose load says nothing:
23 and 36 s were seen of one. Without it a test of 15 s fails now and then."""

SET_UP_S = pytest.StashKey[float]()
TOO_LONG = "took too long"
SHARED_S = pytest.StashKey[float]()
"""Seconds that a fixture spent on starting something for many tests."""


def limit_s(load, cores):
    """Return how long a test may take at a load average."""
    busy = max(NOISE, load / cores)
    return LIMIT_S * busy if busy <= MAX_LOAD else math.inf


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Note of a test that passed how much too long it took, unless `make test-all` has it."""
    report = yield
    if report.when == "setup":
        item.stash[SET_UP_S] = report.duration - item.stash.get(SHARED_S, 0.0)
    elif report.when == "call" and report.passed and item.get_closest_marker("full") is None:
        took_s = item.stash[SET_UP_S] + report.duration
        load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
        if took_s > limit_s(load, cores):
            text = (
                f"{took_s:.1f} s, limit {limit_s(load, cores):.1f} s "
                f"({LIMIT_S:g} s, at a load of {load:.1f} on {cores} cores)"
            )
            report.user_properties.append((TOO_LONG, text))
    return report


def pytest_terminal_summary(terminalreporter):
    """List the tests that took too long."""
    found = [
        f"{report.nodeid}: {text}"
        for report in terminalreporter.getreports("passed")
        for name, text in report.user_properties
        if name == TOO_LONG
    ]
    if found:
        terminalreporter.section("tests that took too long")
        for line in found:
            terminalreporter.line(line)
        terminalreporter.line(
            "Make them quicker, or leave them to `make test-all` with @pytest.mark.full."
        )
