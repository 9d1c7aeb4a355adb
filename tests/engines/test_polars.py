"""Polars in its own environment: right on every workload that it does not lack."""

import subprocess
import sys

import pytest

from engines.polars.adapter import CUT_BY_MARKERS, LACKING, QUERIES, VARIANTS, PolarsEngine
from tests.engines.own_environment import check_conformance, check_random_inputs, made
from workloads.registry import names

TRIED_ALWAYS = ("event_window", "wordcount")
"""The suite's cases are inputs such as the random ones, of which every workload has many."""

pytestmark = made(PolarsEngine)


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
def test_polars_conforms(variant, name):
    refused = {"a single stream"} if name in CUT_BY_MARKERS else set()
    check_conformance("polars", variant, name, refused)


@pytest.mark.full
def test_random_input_is_answered_as_the_oracle_does():
    check_random_inputs("polars", "memory", sorted(QUERIES))


@pytest.mark.full
def test_random_input_in_files_is_answered_as_the_oracle_does():
    check_random_inputs("polars", "file", sorted(QUERIES))


IN_A_PROCESS = """
import sys
from pathlib import Path
from engines.conformance import CASES, Setting, run_case
from engines.environment import activate
from engines.polars.adapter import PolarsEngine
from workloads.registry import workload

activate("polars")
assert "polars" not in sys.modules

def run(workers):
    setting = Setting(variant="memory", workers=workers)
    folder = Path(sys.argv[1]) / str(workers)
    return run_case(PolarsEngine(), workload("event_window"), CASES[0], setting, folder)

found = run(3)
assert (found.unsupported, found.problems) == (None, ()), found
print(sys.modules["polars"].thread_pool_size())
print(run(2).unsupported)
"""


def test_polars_has_as_many_threads_as_workers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    threads, refusal = done.stdout.splitlines()
    assert threads == "3"
    assert refusal == "polars has 3 threads in this process already, not 2"
