"""A user's workload in containers, whose image holds only the lab."""

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.errors import IsolationError
from streamlab.lab.isolate.check import check_contains
from streamlab.lab.isolate.isolation import Isolation
from streamlab.results.store import read_run
from tests.examples_folder import sensors

MATRIX = """
[run]
isolate = "container"
container = {{ image = "{image}" }}
timeout_s = 600
[[workload]]
name = "{workload}"
[[engine]]
name = "{engine}"
"""


@pytest.fixture
def own(tmp_path, image, monkeypatch):
    """A folder with a workload that imports a neighbour, and a function that runs it."""
    path = sensors(tmp_path / "own")
    path.with_name("beside_it.py").write_text("")
    path.write_text(
        path.read_text().replace("from streamlab import", "import beside_it\nfrom streamlab import")
    )
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(path.parent)

    def run(workload, engine="reference"):
        matrix = path.with_name("m.toml")
        matrix.write_text(MATRIX.format(image=image, workload=workload, engine=engine))
        return call(["run", str(matrix)])

    return run


# How a reference becomes a mount is in test_container.py.
@pytest.mark.parametrize(
    ("workload", "engine"),
    [
        ("sensors.py", "multicore"),
        *(
            pytest.param("../own/sensors.py:WORKLOAD", engine, marks=pytest.mark.full)
            for engine in ("reference", "multicore")
        ),
    ],
)
def test_a_file_and_its_neighbours_are_there(own, tmp_path, workload, engine, capsys):
    assert own(workload, engine) == EXIT_OK, capsys.readouterr()
    (run_dir,) = (tmp_path / "runs").iterdir()
    rows = read_run(run_dir).rows
    assert [(row.isolate, row.status) for row in rows] == [("container", "ok")], rows


def test_a_module_that_the_image_lacks_is_refused_with_the_remedy(own, tmp_path, image, capsys):
    assert own("sensors:WORKLOAD") == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert f"the image '{image}' lacks workload 'sensors:WORKLOAD': module 'sensors' cannot" in err
    assert "name it by the path of its file" in err and "Traceback" not in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.full
def test_an_engine_that_the_image_lacks_is_refused(image):
    isolation = Isolation(kind="container", image=image)
    check_contains(isolation, ["event_window"], ["multicore"])
    with pytest.raises(IsolationError, match=r"lacks engine 'mine': no engine 'mine'.*; install"):
        check_contains(isolation, [], ["mine"])
