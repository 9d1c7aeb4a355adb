"""The Timely adapter without its program: what a machine lacks, and what the program is given."""

import os

import numpy as np
import pytest

from streamlab.engines import environment
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineError
from streamlab.engines.timely.adapter import TimelyEngine
from streamlab.engines.timely.build import compile_program
from streamlab.engines.timely.process import SHAPES, write_task
from streamlab.workloads.registry import workload
from tests.engines.tasks import task_of

ENGINE = TimelyEngine()


@pytest.fixture
def bare_machine(tmp_path, monkeypatch):
    """A machine without cargo and without the environment."""
    for name in ("PATH", "CARGO_HOME", environment.ENGINES_VARIABLE):
        monkeypatch.setenv(name, str(tmp_path / "none"))


@pytest.mark.usefixtures("bare_machine")
def test_without_cargo_a_task_is_unsupported_and_both_commands_are_named(tmp_path):
    data = ordinary_input(workload("event_window"))
    reason = ENGINE.unsupported(task_of("event_window", data, tmp_path, "automatic"))
    assert "`lab environment timely` (in a checkout: `make engine NAME=timely`)" in reason
    assert "with rustup (rustup default stable)" in reason
    with pytest.raises(EngineError, match="rustup"):
        compile_program(tmp_path)
    with pytest.raises(EngineError, match="lab environment timely"):
        ENGINE.generator_ceiling_eps("automatic", 1)


def test_an_unavailable_crate_is_reported_with_the_remedy(tmp_path, monkeypatch):
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho 'error: failed to fetch serde' >&2\nexit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(EngineError, match=r"failed to fetch serde; .*registry is reachable"):
        compile_program(tmp_path)


def test_the_version_is_that_of_the_lock():
    assert ENGINE.version().startswith("timely 0.32.0")


def test_only_the_manual_join_names_its_workers():
    for name in SHAPES:
        assert all(p.holds for p in ENGINE.properties(name, "automatic").values())
    manual = ENGINE.properties("page_view_join", "manual")
    assert [name for name, p in manual.items() if not p.holds] == ["PIP2"]


def test_a_task_is_written_as_columns_and_settings(tmp_path):
    data = ordinary_input(workload("page_view_join"))
    task = task_of("page_view_join", data, tmp_path, "manual", workers=2, batch=64)
    write_task(task, data)
    users = np.fromfile(task.scratch / "0.value", dtype="<i8")
    assert users.tolist() == data.streams[0].payload["user"].tolist()
    settings = (task.scratch / "job.properties").read_text().splitlines()
    assert {"variant=manual", "workers=2", "batch=64", "offered=no", "keys=2"} <= {*settings}
