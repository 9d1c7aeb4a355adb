"""Polars and DuckDB, each in its own environment: right on every workload that they have."""

from pathlib import Path

import pytest

from streamlab.engines.duckdb.adapter import DuckdbEngine
from streamlab.engines.polars.adapter import PolarsEngine
from streamlab.workloads.model import Dataflow, DGSProgram
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import (
    check_conformance,
    check_random_inputs,
    requires_environment,
)
from tests.processes import run_python
from tests.workloads.suite.small_inputs import event_time_workloads

ROOT = Path(__file__).parents[2]
ENGINES = (PolarsEngine, DuckdbEngine)
TRIED_ALWAYS = ("event_window", "wordcount")
"""The suite's cases are inputs such as the random ones, of which every workload has many."""

VARIANTS = [
    pytest.param(
        engine, variant.name, marks=requires_environment(engine), id=f"{engine.name}-{variant.name}"
    )
    for engine in ENGINES
    for variant in engine.known_variants
    if variant.generates is None
]


@pytest.mark.parametrize("engine", ENGINES)
def test_there_is_a_query_for_every_workload_but_those_that_the_documents_name(engine):
    graphs = {
        name for name in event_time_workloads() if isinstance(workload(name).program, Dataflow)
    }
    not_run = {"parametric", "linear_road_toll", "high_mobility_fraud"}
    not_run |= {"outlier_detection", "smart_home"}
    assert set(engine.queries) == set(event_time_workloads()) - not_run - graphs
    said = (ROOT / "docs" / "engines" / f"{engine.name}.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in said for name in not_run)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in TRIED_ALWAYS else pytest.mark.full)
        for name in PolarsEngine.queries
    ],
)
@pytest.mark.parametrize(("engine", "variant"), VARIANTS)
def test_it_conforms(engine, variant, name):
    ordered = isinstance(workload(name).program, DGSProgram)
    check_conformance(engine.name, variant, name, {"a single stream"} if ordered else set())


@pytest.mark.full
@pytest.mark.parametrize(("engine", "variant"), VARIANTS)
def test_random_input_is_answered_as_the_oracle_does(engine, variant):
    check_random_inputs(engine.name, variant, sorted(engine.queries))


POLARS = """
import sys
from pathlib import Path
from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.environment import activate
from streamlab.engines.polars.adapter import PolarsEngine
from streamlab.workloads.registry import workload

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
DUCKDB = """
import sys
from pathlib import Path
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.duckdb.adapter import DuckdbEngine
from streamlab.engines.environment import activate
from streamlab.workloads.registry import workload
from tests.engines.tasks import task_of

activate("duckdb")
data = ordinary_input(workload("event_window"))
task = task_of("event_window", data, Path(sys.argv[1]), "memory", workers=3)
_, connection = DuckdbEngine().load(task)
print(*connection.execute("SELECT current_setting('threads')").fetchone())
connection.close()
"""
REFUSAL = "polars already runs with 3 threads in this process, not 2"
"""Of a second number of workers in one process."""


@pytest.mark.parametrize(
    ("script", "refusal"),
    [
        pytest.param(POLARS, [REFUSAL], marks=requires_environment(PolarsEngine), id="polars"),
        pytest.param(DUCKDB, [], marks=requires_environment(DuckdbEngine), id="duckdb"),
    ],
)
def test_an_engine_has_as_many_threads_as_workers(script, refusal, tmp_path):
    done = run_python("-c", script, str(tmp_path), cwd=ROOT)
    assert done.stderr == ""
    threads, *refused = done.stdout.splitlines()
    assert threads == "3"
    assert [line[: len(REFUSAL)] for line in refused] == refusal
