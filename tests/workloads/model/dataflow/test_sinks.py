"""Graphs with several sinks: their answer has the rows of each sink, with any deployment."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.model import ProgramError
from streamlab.workloads.model.check import check
from streamlab.workloads.model.dataflow import Dataflow, Flow, OpStateless, U
from streamlab.workloads.model.dataflow.plan import deploy
from streamlab.workloads.model.dataflow.plan_interpreter import outputs
from streamlab.workloads.model.dataflow.traces import of_graph, trace
from streamlab.workloads.model.dataflow.vertex_reference import Marker
from streamlab.workloads.model.streams.records import record_type
from tests.examples import examples
from tests.workloads.model.dataflow.parts import AVG, JFM, LI, READING, READINGS, answer, readings

ALERT = np.dtype([("ts", np.int64), ("level", np.float64), ("high", np.bool_)])
ROWS = readings((1, 7, 4), (2, 8, 90), (3, 7, 8), (11, 8, 10), until_ts=20)
FILLED, AVERAGES, ALERTS = range(3)


def alarm(key: Any, value: Any, out: Any) -> None:
    if value.load > 50:
        out.emit(value.ts, value.load / 2, True)


def alert(value: np.dtype[np.void] = ALERT) -> OpStateless:
    return OpStateless(name="alert", reads=READINGS, gives=U(None, value), on_item=alarm)


def loads(sinks: Sequence[int]) -> Dataflow:
    """Return a graph of three vertices that may be sinks: one ordered, one that reads it, one apart."""
    flow = Flow("loads", markers=10)
    source = flow.source("reading", READING)
    filled = flow.add(LI, flow.sort(flow.add(JFM, source)))
    vertices = (filled, flow.add(AVG, filled), flow.add(alert(), source))
    kept = [vertices[i] for i in sinks]
    return flow.gives(*kept)


def test_an_answer_has_the_rows_of_each_sink_with_its_number():
    graph = loads([FILLED, AVERAGES, ALERTS])
    assert graph.output.names == ("ts", "sink", "plug", "load", "level", "high")
    found = answer(graph, ROWS)
    assert [row[2:] for row in found if row[1] == ALERTS] == [(0, 0, 45.0, True)]
    filled = [(row[0], *row[2:4]) for row in found if row[1] == FILLED]
    assert sorted(filled) == sorted(answer(_alone(FILLED), ROWS))
    averages = [(row[0], *row[2:4]) for row in found if row[1] == AVERAGES]
    assert sorted(averages) == sorted(answer(_alone(AVERAGES), ROWS))
    assert len(found) == len(filled) + len(averages) + 1
    assert filled and averages


def _alone(sink: int) -> Dataflow:
    """Return the pipeline of one sink, without the vertices that it does not need."""
    flow = Flow("alone", markers=10)
    filled = flow.add(LI, flow.sort(flow.add(JFM, flow.source("reading", READING))))
    return flow.gives(filled if sink == FILLED else flow.add(AVG, filled))


def test_every_deployment_gives_the_rows_of_all_sinks():
    graph = loads([AVERAGES, ALERTS])
    event = record_type(READING.names or ())
    elements = [(0, event(ts, ts % 3, ts * 40 % 99)) for ts in range(8)]
    elements += [Marker(10), *((0, event(ts, 1, ts * 7)) for ts in range(10, 15)), Marker(20)]
    whole = of_graph(graph)
    expected = trace(whole.gives, whole.lifted(elements))
    assert any(expected.blocks)
    for workers in (1, 2, 3):
        for seed in range(5):
            deployed = deploy(graph, workers, streams=[workers])
            found = outputs(deployed, elements, random.Random(seed).randrange)
            assert trace(whole.gives, found) == expected


def test_the_laws_hold_for_a_graph_with_several_sinks():
    report = check(loads([AVERAGES, ALERTS]), examples=examples(30))
    assert report.ok, report.render()
    assert any("sink 1: alert" in law for law in report.checked)


def test_a_flow_may_give_other_sinks_afterwards():
    flow = Flow("loads", markers=10)
    source = flow.source("reading", READING)
    first, second = flow.add(JFM, source), flow.add(alert(), source)
    assert len(flow.gives(first, second).vertices) == 6
    third = flow.add(AVG, first)
    assert [v.name for v in flow.gives(third, second).vertices][-3:] == [
        "sink 0: avg",
        "sink 1: alert",
        "sinks",
    ]


@pytest.mark.parametrize(
    ("field", "dtype", "expected"),
    [
        ("load", np.float32, "column load is int64 in one sink and float32 in another"),
        ("plug", np.int16, "column plug is int64 in one sink and int16 in another"),
        ("sink", np.int64, "one of its sinks has a column sink, which numbers the sinks"),
    ],
)
def test_columns_that_do_not_fit_each_other_are_refused(field: str, dtype: Any, expected: str):
    flow = Flow("loads", markers=10)
    source = flow.source("reading", READING)
    other = alert(np.dtype([("ts", np.int64), (field, dtype)]))
    sinks = flow.add(JFM, source), flow.add(other, source)
    with pytest.raises(ProgramError, match=f"dataflow loads: {expected}; rename"):
        flow.gives(*sinks)


def test_no_sink_and_a_repeated_sink_are_refused():
    flow = Flow("loads", markers=10)
    jfm = flow.add(JFM, flow.source("reading", READING))
    with pytest.raises(ProgramError, match="gives needs at least one vertex"):
        flow.gives()
    with pytest.raises(ProgramError, match="gives jfm twice; list each sink once"):
        flow.gives(jfm, jfm)
