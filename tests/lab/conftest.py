from contextlib import ExitStack

import pytest

from engines.conformance import kept, ordinary_input
from engines.small_dataset import write_dataset
from tests.lab.podman import NoEngineError, podman
from workloads.registry import workload


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "container_image: builds the project's Dockerfile (minutes); LAB_TEST_IMAGE=1"
    )


@pytest.fixture
def small_dataset(tmp_path):
    """A function from a workload's name to a small dataset of it, made without Spark."""

    def make(name="event_window", *, events=None):
        """Make one; with `events`, of only the first so many of the first stream."""
        data = ordinary_input(workload(name))
        if events is not None:
            data = kept(data, {0: events})
        return write_dataset(data, name, tmp_path / "data" / name)

    return make


@pytest.fixture(scope="session")
def podman_engine(tmp_path_factory):
    """A container engine that runs for the session; tests are skipped where none can run."""
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(podman(tmp_path_factory.mktemp("podman")))
        except NoEngineError as error:
            pytest.skip(f"CONTAINERS ARE NOT TESTED: {error}")
        yield engine


@pytest.fixture
def image(podman_engine, monkeypatch):
    """The name of an image of this source, at the engine that DOCKER_HOST names now."""
    monkeypatch.setenv("DOCKER_HOST", podman_engine.address)
    name = podman_engine.import_image("lab-test")
    yield name
    assert podman_engine.containers() == []
