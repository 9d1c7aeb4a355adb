"""An engine's own environment: made whole from a lock, found first, and told when it is stale."""

import sys
import zipfile
from pathlib import Path

import pytest

from streamlab.engine import BatchEngine
from streamlab.engines import environment
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineError
from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.doctor.finding import State
from streamlab.lab.doctor.places import environments
from streamlab.lab.host.machine import Machine
from streamlab.workloads.registry import workload
from tests.engines.tasks import task_of
from tests.processes import run_python


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where environments lie in a test."""
    monkeypatch.setenv(environment.ENGINES_VARIABLE, str(tmp_path / "engines"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path


def locked(folder: Path, version: str, **more) -> Environment:
    """A package `opinion` of some version, and the lock of an environment with it."""
    info = f"opinion-{version}.dist-info"
    content = {
        "opinion.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: opinion\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    content[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*content, f"{info}/RECORD"])
    package = folder / f"opinion-{version}-py3-none-any.whl"
    with zipfile.ZipFile(package, "w") as wheel:
        for name, text in content.items():
            wheel.writestr(name, text)
    lock = folder / "requirements.txt"
    lock.write_text(f"{package}\n")
    return Environment(lock=lock, **more)


def test_it_is_made_by_a_command_that_the_reason_names(place):
    expected = locked(place, "1.0")
    assert "lab environment mine" in environment.unusable_reason("mine", expected)
    made = environment.make("mine", expected)
    assert made == place / "engines" / "mine"
    assert environment.unusable_reason("mine", expected) is None
    assert environment.versions("mine", ("opinion",)) == "opinion 1.0"
    assert list(made.parent.iterdir()) == [made]


def test_a_pom_needs_maven_and_says_how_to_install_it(place, monkeypatch):
    monkeypatch.setenv("PATH", str(place))
    lock = place / "pom.xml"
    lock.touch()
    with pytest.raises(EngineError, match=r"found no mvn on PATH .* apt-get install maven"):
        environment.make("mine", Environment(lock=lock))


@pytest.mark.full
def test_a_package_that_has_to_be_built_is_built(place, monkeypatch):
    # Without an index it can be built with nothing but the setuptools that this Python has.
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    (place / "setup.py").write_text(
        "from setuptools import setup; setup(name='built', version='1.0', py_modules=['built'])"
    )
    (place / "built.py").touch()
    lock = place / "requirements.txt"
    lock.write_text(f"{place}\n")
    made = environment.make("mine", Environment(lock=lock))
    assert (made / "built.py").exists()
    assert environment.versions("mine", ("built",)) == "built 1.0"


def test_a_version_is_found_despite_a_half_removed_package(tmp_path, monkeypatch):
    (tmp_path / "half-1.0.dist-info").mkdir()
    whole = tmp_path / "Whole_Thing-1.2.dist-info"
    whole.mkdir()
    (whole / "METADATA").write_text("Metadata-Version: 2.1\nName: Whole-Thing\nVersion: 1.2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert environment.versions("mine", ("whole-thing", "none")) == "whole-thing 1.2, none -"


def test_another_lock_or_input_makes_it_stale(place):
    (place / "Source.java").write_text("class Source {}")
    expected = locked(place, "1.0", inputs=(place / "Source.java",))
    environment.make("mine", expected)
    assert environment.unusable_reason("mine", expected) is None
    (place / "Source.java").write_text("class Source { int x; }")
    assert "makes it again" in environment.unusable_reason("mine", expected)


def test_a_file_that_the_engine_came_without_is_named(place):
    expected = locked(place, "1.0", inputs=(place / "Source.java",))
    with pytest.raises(EngineError, match=r"engine mine .*Source\.java.*; install the engine"):
        environment.make("mine", expected)
    (place / "Source.java").touch()
    environment.make("mine", expected)
    (place / "Source.java").unlink()
    assert "Source.java" in environment.unusable_reason("mine", expected)


def test_a_process_that_activates_it_finds_its_packages_first(place):
    environment.make("mine", locked(place, "1.0"))
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "opinion.py").write_text("VERSION = 'not this one'")
    code = (
        f"import sys; sys.path.insert(0, {str(place / 'elsewhere')!r})\n"
        "from streamlab.engines import environment; environment.activate('mine')\n"
        "import opinion; print(opinion.VERSION)"
    )
    done = run_python("-c", code, check=True)
    assert done.stdout == "1.0\n"


def test_one_that_is_not_made_changes_nothing(place):
    before = list(sys.path)
    environment.activate("mine")
    assert sys.path == before


def test_files_built_after_the_installation_belong_to_it(place):
    def build(folder: Path) -> None:
        assert (folder / "opinion.py").exists()
        (folder / "built").write_text("yes")

    made = environment.make("mine", locked(place, "1.0", build=build))
    assert (made / "built").read_text() == "yes"


def test_a_lock_of_another_tool_is_left_to_the_build(place):
    lock = place / "Cargo.lock"
    lock.write_text("version = 4\n")
    expected = Environment(
        lock=lock, installs=False, build=lambda folder: (folder / "built").touch()
    )
    made = environment.make("mine", expected)
    assert (made / "built").exists()
    assert environment.unusable_reason("mine", expected) is None


def test_missing_tools_are_reported_before_an_environment_is_made(place):
    def fail() -> None:
        raise EngineError("found no cargo; install Rust first")

    reason = environment.unusable_reason("mine", locked(place, "1.0", check=fail))
    assert "lab environment mine" in reason
    assert reason.endswith("; found no cargo; install Rust first")


def test_one_that_cannot_be_made_leaves_the_one_before(place):
    made = environment.make("mine", locked(place, "1.0"))

    def fail(folder: Path) -> None:
        raise EngineError("no javac; install a JDK")

    with pytest.raises(EngineError, match="no javac"):
        environment.make("mine", locked(place, "2.0", build=fail))
    assert (made / "opinion.py").read_text() == "VERSION = '1.0'\n"
    assert list(made.parent.iterdir()) == [made]


def test_an_unavailable_package_is_reported_with_the_lock_and_the_remedy(place):
    lock = place / "requirements.txt"
    lock.write_text("a-package-that-nobody-has==1.0\n")
    with pytest.raises(EngineError, match=r"requirements.txt.*package index.*lab environment mine"):
        environment.make("mine", Environment(lock=lock))


def an_engine_with(wanted: Environment, name: str):
    """An adapter that declares an environment, as the registry would give it."""

    class Made(BatchEngine):
        environment = wanted

    Made.name = name
    return Made()


def test_workloads_without_a_query_are_reported_before_the_environment(place, tmp_path):
    engine = an_engine_with(locked(place, "1.0"), "mine")
    engine.queries = {"wordcount": None}
    subject = workload("event_window")
    task = task_of(subject, ordinary_input(subject), tmp_path, "batch")
    assert "no query for event_window" in engine.unsupported(task)
    engine.queries = {"event_window": None}
    assert "lab environment mine" in engine.unsupported(task)


def test_the_command_makes_it_once_and_lists_and_doctor_name_the_command(
    place, monkeypatch, capsys
):
    expected = locked(place, "1.0")
    modules = ("streamlab.lab.cli.commands.listing.engines", "streamlab.lab.doctor.places")
    for module in modules:
        monkeypatch.setattr(f"{module}.names", lambda: ("mine",))
    for module in ("streamlab.lab.cli.commands.environment", *modules):
        monkeypatch.setattr(f"{module}.engine", lambda name: an_engine_with(expected, name))
    finding = environments(Machine())
    assert finding.state is State.WARN and "lab environment mine" in finding.remedy
    assert call(["list", "engines"]) == EXIT_OK
    assert "`lab environment mine`" in capsys.readouterr().out
    assert call(["environment", "mine"]) == EXIT_OK
    assert capsys.readouterr().out == f"{place / 'engines' / 'mine'}\n"
    assert call(["environment", "mine"]) == EXIT_OK
    assert "up to date" in capsys.readouterr().out
    assert environments(Machine()).state is State.OK
    assert call(["list", "engines"]) == EXIT_OK
    assert "environment installed" in capsys.readouterr().out


def test_an_engine_that_needs_none_says_so(capsys):
    assert call(["environment", "reference"]) == EXIT_OK
    assert "needs no separate environment" in capsys.readouterr().out
    assert call(["environment", "nosuch"]) == EXIT_USER_ERROR
