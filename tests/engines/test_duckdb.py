"""DuckDB in its own environment: right on every workload that it does not lack."""

import subprocess
import sys

import pytest

from engines.duckdb.adapter import CUT_BY_MARKERS, LACKING, QUERIES, VARIANTS, DuckdbEngine
from tests.engines.own_environment import check_conformance, check_random_inputs, made
from workloads.registry import names

TRIED_ALWAYS = ("event_window", "wordcount")
"""The suite's cases are inputs such as the random ones, of which every workload has many."""

pytestmark = made(DuckdbEngine)


def test_there_is_a_query_for_every_workload_that_is_not_lacking():
    assert set(QUERIES) == set(names()) - set(LACKING)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in TRIED_ALWAYS else pytest.mark.full)
        for name in sorted(QUERIES)
    ],
)
@pytest.mark.parametrize("variant", [variant.name for variant in VARIANTS])
def test_duckdb_conforms(variant, name):
    refused = {"a single stream"} if name in CUT_BY_MARKERS else set()
    check_conformance("duckdb", variant, name, refused)


@pytest.mark.full
def test_random_input_is_answered_as_the_oracle_does():
    check_random_inputs("duckdb", "memory", sorted(QUERIES))


@pytest.mark.full
def test_random_input_in_files_is_answered_as_the_oracle_does():
    check_random_inputs("duckdb", "file", sorted(QUERIES))


IN_A_PROCESS = """
import sys
from pathlib import Path
from engines.conformance import ordinary_input
from engines.duckdb.adapter import DuckdbEngine
from engines.environment import activate
from engines.protocol import Task
from engines.small_dataset import write_dataset
from workloads.registry import workload

activate("duckdb")
found, folder = workload("event_window"), Path(sys.argv[1])
task = Task(
    workload=found,
    dataset=write_dataset(ordinary_input(found), found.name, folder),
    variant="memory",
    workers=3,
    batch=1,
    scratch=folder,
)
_, connection = DuckdbEngine().load(task)
print(*connection.execute("SELECT current_setting('threads')").fetchone())
connection.close()
"""


def test_duckdb_has_as_many_threads_as_workers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "3"
