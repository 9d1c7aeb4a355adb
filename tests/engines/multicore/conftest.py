"""Fixtures for tests of the core."""

import os

import pytest


@pytest.fixture
def one_core():
    """All threads of the test share a core."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_cores)})
    yield
    os.sched_setaffinity(0, all_cores)
