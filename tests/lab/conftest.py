import json
from contextlib import ExitStack

import pytest

from engines.conformance import kept, ordinary_input
from engines.small_dataset import write_dataset
from tests.lab.isolate.podman import NoEngineError, podman
from tests.lab.parent.published import publish
from workloads.datasets.catalog import Catalog
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


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """Id of a small event_window dataset in a catalogue of its own, made without Spark."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "200")
    return publish(Catalog.default()).id


@pytest.fixture
def matrix(tmp_path, dataset):
    """A function that writes a matrix of fake cells and returns its path."""

    def write(variants, *, repetitions=1, options="{ rate_eps = 100_000 }", name="m", more=""):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f"[run]\nrepetitions = {repetitions}\ntimeout_s = 60\n"
            f'[[workload]]\nname = "event_window"\ndataset = "{dataset[:12]}"\nlabel = "small"\n'
            f'[[engine]]\nname = "fake"\nvariants = {json.dumps(variants)}\n'
            f"options = {options}\n{more}\n"
        )
        return path

    return write


@pytest.fixture
def same_source(monkeypatch):
    """One source revision from the run to its resumption, whoever edits the checkout meanwhile."""
    pinned = {"commit": "1" * 40, "dirty_diff_sha256": None, "reason": None}
    monkeypatch.setattr("lab.parent.run_dir.revision", lambda: dict(pinned))
    return pinned
