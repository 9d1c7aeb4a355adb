import pytest

from engines.conformance import ordinary_input
from engines.small_dataset import write_dataset
from workloads.registry import workload


@pytest.fixture
def small_dataset(tmp_path):
    """A function from a workload's name to a small dataset of it, made without Spark."""

    def make(name="event_window"):
        return write_dataset(ordinary_input(workload(name)), name, tmp_path / "data" / name)

    return make
