"""Typed and handcrafted topologies on Storm give the answers of the oracle and the reference.

A case starts a Java process and a local cluster, as in test_storm.py, so `make test` takes a few.
"""

import sqlite3
import tempfile
from contextlib import closing

import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.small_dataset import write_dataset
from streamlab.engines.storm.adapter import StormEngine
from streamlab.engines.storm.topologies import WORKLOADS, fuse_sorts
from streamlab.workloads.inputs.ads.databases.store import database_path
from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.plan import deploy
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.user_activity.persist import TABLE
from tests.engines.separate_environment import requires_environment
from tests.engines.tasks import assert_equal, check_task, task_of

NAMES = sorted(WORKLOADS)
VARIANTS = ("typed", "handcrafted")
QUICK = {"warm_up_events": 0, "heap_mb": 256}
needs_storm = requires_environment(StormEngine)


@pytest.fixture(autouse=True)
def java_that_starts_fast(monkeypatch):
    """As in test_storm.py."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


@needs_storm
@pytest.mark.some(2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_topologies_conform(name, variant, case, tmp_path):
    setting = Setting(variant=variant, workers=2, options=QUICK)
    found = run_case(StormEngine(), workload(name), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@needs_storm
@pytest.mark.some(2)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_the_reference_after_a_warm_up(name, variant, workers, tmp_path):
    chosen = workload(name)
    options = {"warm_up_events": 1000, "heap_mb": 256}
    data = ordinary_input(chosen)
    task = task_of(chosen, data, tmp_path, variant, workers=workers, options=options)
    _, found = check_task(StormEngine(), task)
    expected = answer_of(chosen.program, task.dataset.load())
    assert len(found["ts"]) > 0
    assert_equal(expected, found, chosen.output)


@needs_storm
@pytest.mark.some(1)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "name", sorted(name for name in WORKLOADS if "lookup" in workload(name).query)
)
def test_look_ups_ask_the_database(name, variant, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    chosen = workload(name).bound({"lookup": "sqlite"})
    data = ordinary_input(chosen)
    check_task(StormEngine(), task_of(chosen, data, tmp_path, variant, workers=2, options=QUICK))


@needs_storm
@pytest.mark.some(1)
@pytest.mark.parametrize("variant", VARIANTS)
def test_readings_join_the_table_of_devices(variant, tmp_path):
    # Of 12 plugs the table has 10, and of their types 0 to 9 the query retains 7.
    chosen = workload("smart_home_prediction").bound({"table_plugs": 10, "device_types": 7})
    task = task_of(*(chosen, ordinary_input(chosen), tmp_path, variant), workers=2, options=QUICK)
    _, found = check_task(StormEngine(), task)
    assert set(found["device"].tolist()) == set(range(7))


@needs_storm
@pytest.mark.some(1)
@pytest.mark.parametrize("variant", VARIANTS)
def test_counts_of_query_ii_are_in_the_database(variant, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    chosen = workload("user_activity").bound({"persist": "sqlite"})
    task = task_of(
        *(chosen, ordinary_input(chosen), tmp_path, variant),
        workers=2,
        options={"warm_up_events": 1000, "heap_mb": 256},
    )
    _, found = check_task(StormEngine(), task)
    columns = ("user", "ts", "views", "clicks", "purchases")
    last = {row[0]: row for row in zip(*(found[name].tolist() for name in columns), strict=True)}
    with closing(sqlite3.connect(database_path(TABLE))) as database:
        stored = database.execute(f"SELECT {', '.join(columns)} FROM {TABLE}").fetchall()
    assert {row[0]: row for row in stored} == last


def test_a_bolt_runs_a_vertex_with_the_sort_before_it():
    flow = workload("smart_home_prediction").program
    units = deploy(flow, 2, streams=[2], partials=False).units
    bolts = fuse_sorts(deploy(flow, 2, streams=[2], partials=False))
    assert [(bolt.name, bolt.route) for bolt in bolts if bolt.inputs] == [
        ("JFM", Route.FORWARD),
        ("LI", Route.HASH),
        ("Map", Route.FORWARD),
        ("AVG", Route.HASH),
        ("Predict", Route.FORWARD),
    ]
    assert [units[i].name for i in bolts[2].inputs] == ["JFM"]


def test_other_graphs_have_no_topology(tmp_path):
    chosen = workload("sensor_interpolation")
    dataset = write_dataset(ordinary_input(chosen), chosen.name, tmp_path / "data")
    reason = StormEngine().unsupported(task_of(chosen, dataset, tmp_path, "typed"))
    assert "has no query for sensor_interpolation" in reason
