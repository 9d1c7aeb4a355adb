"""The base class of engines that answer from tables."""

import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engine import FILE, MEMORY, Query, TableEngine, modules_in
from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.workloads.registry import workload
from tests.engines.tasks import task_of


def forwarded(tables):
    """A part for each stream."""
    return [copied(table, src, copies) for src, (table, copies) in enumerate(tables)]


def copied(table, src, copies):
    rows = np.repeat(np.arange(len(table)), copies)
    made = {name: table[name].to_numpy()[rows] for name in ("ts", "id", "value")}
    return {**made, "ts": made["ts"] + 1, "src": np.full(len(rows), src)}


QUERIES = {"forward": forwarded, "event_window": None}


class Forwarding(TableEngine):
    name = "forwarding"
    queries = QUERIES

    def tables(self, task):
        copies = int(task.workload.query_params["copies"])
        return [(pq.read_table([*stream.paths]), copies) for stream in task.dataset.streams]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("variant", [MEMORY, FILE])
def test_an_engine_of_tables_conforms_and_its_parts_are_merged(variant, case, tmp_path):
    setting = Setting(variant=variant, workers=1)
    found = run_case(Forwarding(), workload("forward"), case, setting, tmp_path)
    assert found.problems == ()
    assert (found.unsupported is not None) == (case.extra_workers is not None)


def task(name, folder):
    data = ordinary_input(workload(name))
    (whole,) = [case.derive(data) for case in CASES if case.name == "a single stream"]
    return task_of(name, whole, folder, MEMORY)


def test_a_query_that_flushes_its_end_is_refused_unless_the_engine_closes_windows(tmp_path):
    given = task("forward", tmp_path)
    program = replace(given.workload.program, at_end="flush")
    flushing = replace(given, workload=replace(given.workload, program=program))
    assert flushing.dataset.until_ts == 2 + max(s.ts_max for s in given.dataset.streams)
    assert 'has at_end = "flush"; the queries of forwarding leave windows open' in (
        Forwarding().unsupported(flushing)
    )

    class Flushing(Forwarding):
        flushes = True

    assert Flushing().unsupported(flushing) is None


def test_a_stream_of_several_kinds_is_refused_where_its_order_is_no_table_s(tmp_path):
    ordered, counted = task("event_window", tmp_path / "dgs"), task("forward", tmp_path / "query")
    assert Forwarding().unsupported(ordered) == (
        "stream all carries value and barrier events; forwarding takes tables of one kind each"
    )
    assert Forwarding().unsupported(counted) is None

    class OfOneKind(Forwarding):
        one_kind = (Query,)

    assert "stream all carries left and right events" in OfOneKind().unsupported(counted)


def test_the_modules_of_queries_are_imported_when_they_are_loaded(tmp_path, monkeypatch):
    package = tmp_path / "queries_of_mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "forward.py").write_text("def answer(tables):\n    return {'ts': tables}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = modules_in("queries_of_mine")
    assert found == {"forward": "queries_of_mine.forward"}

    class Mine(Forwarding):
        queries = found

        def tables(self, task):
            return [task.workers]

    given = task("forward", tmp_path / "data")
    assert Mine().unsupported(given) is None
    assert "queries_of_mine.forward" not in sys.modules
    data = Mine().load(given)
    assert "queries_of_mine.forward" in sys.modules
    assert Mine().compute(given, data) == {"ts": [1]}
    assert Mine().plan(given) == "forwarding: the whole input at once, one thread"
    assert Mine().plan(replace(given, workers=2)).endswith("2 threads")
