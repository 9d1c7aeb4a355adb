import json
import shutil
from contextlib import ExitStack
from functools import partial

import pytest
from msgspec.structs import asdict

from streamlab.engines.conformance import first_rows, ordinary_input
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.cli import call
from streamlab.results.meta import Revision
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.registry import workload
from tests.lab.isolate.podman import NoEngineError, podman
from tests.lab.runner.published import publish


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
            data = first_rows(data, {0: events})
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


def set_places(patch, folder):
    """Keep datasets and runs in a folder; print all columns of tables."""
    patch.setenv("LAB_DATA", str(folder / "catalogue"))
    patch.setenv("LAB_RUNS", str(folder / "runs"))
    patch.setenv("COLUMNS", "200")


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Keeps datasets in the folder `catalogue`, and runs in `runs`."""
    set_places(monkeypatch, tmp_path)


@pytest.fixture
def dataset(places):
    """Id of a small event_window dataset in a catalogue of its own, made without Spark."""
    return publish(Catalog.default()).id


@pytest.fixture(scope="session")
def runs_before(tmp_path_factory):
    """A function from what `matrix` takes to the folder of a finished run, made once a session."""
    made = {}

    def run(variants, **more):
        key = json.dumps([variants, more])
        if key not in made:
            folder = tmp_path_factory.mktemp("run_before")
            with pytest.MonkeyPatch.context() as patch:
                set_places(patch, folder)
                path = write_matrix(folder, publish(Catalog.default()).id, variants, **more)
                call(["run", str(path)])
            (made[key],) = (folder / "runs").iterdir()
        return made[key]

    return run


@pytest.fixture
def stored_run(runs_before, dataset, tmp_path):
    """A function from what `matrix` takes to a finished run of that, which the test may change."""

    def stored(variants, *, called="20260101T000000Z-m", **more):
        folder = tmp_path / "runs" / called
        shutil.copytree(runs_before(variants, **more), folder)
        return folder

    return stored


@pytest.fixture
def matrix(tmp_path, dataset):
    """A function that writes a matrix of fake cells and returns its path."""
    return partial(write_matrix, tmp_path, dataset)


def write_matrix(
    folder,
    dataset,
    variants,
    *,
    repetitions=1,
    options="{ capacity_eps = 100_000 }",
    name="m",
    more="",
):
    """Write a matrix of fake cells on a dataset and return its path."""
    path = folder / f"{name}.toml"
    path.write_text(
        f"[run]\nrepetitions = {repetitions}\ntimeout_s = 600\n"
        f'[[workload]]\nname = "event_window"\ndataset = "{dataset[:12]}"\nlabel = "small"\n'
        f'[[engine]]\nname = "fake"\nvariants = {json.dumps(variants)}\n'
        f"options = {options}\n{more}\n"
    )
    return path


@pytest.fixture
def same_source(monkeypatch):
    """One source revision from the run to its resumption, whoever edits the checkout meanwhile."""
    pinned = Revision(commit="1" * 40)
    monkeypatch.setattr("streamlab.lab.runner.run_directory.revision", lambda: pinned)
    return asdict(pinned)
