"""The state of a run between two records can be pickled, and another run resumes from it."""

import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model.dataflow import Vertex
from streamlab.workloads.model.dataflow.vertex_reference import Marker, start
from streamlab.workloads.model.operators.instance import instance
from streamlab.workloads.model.operators.program import MULTI, SINGLE
from streamlab.workloads.model.pipeline.reference import PipelineRun
from streamlab.workloads.model.streams.strategies import records, tuples
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.model import naive, pipelines
from tests.workloads.model.dataflow.graphs import sequences
from tests.workloads.model.dataflow.parts import AVG, JFM, LI, LOADS, ORDERED_LOADS, READINGS


def moved(new, items, cut, process):
    """Return the outputs for items when another run takes over in between."""
    rows = []
    first = new(rows.append)
    for item in items[:cut]:
        process(first, item)
    second = new(rows.append)
    second.restore(pickle.loads(pickle.dumps(first.state())))
    for item in items[cut:]:
        process(second, item)
    return rows


def process(run, item):
    run.process(item)


@pytest.mark.parametrize("kind", ["counting", "storing", "single", "join"])
def test_an_operator_resumes_from_the_state_of_another_instance(kind):
    @settings(max_examples=examples(60))
    @given(st.data(), naive.shapes(MULTI))
    def holds(draw, window):
        if kind == "join":
            operator = workload("scale_join").program.operators[0]
        else:
            make = naive.counting if kind == "counting" else naive.storing
            shape = replace(window, type=SINGLE) if kind == "single" else window
            operator = make(shape)
        drawn = draw.draw(tuples(naive.query(operator), max_size=12))
        cut = draw.draw(st.integers(0, len(drawn)))
        rows = moved(lambda emit: instance(operator, emit), drawn, cut, process)
        whole = []
        run = instance(operator, whole.append)
        for t in drawn:
            run.process(t)
        assert rows == whole

    holds()


@settings(max_examples=examples(60))
@given(st.data())
def test_a_pipeline_resumes_from_the_state_of_another_run(draw):
    drawn = draw.draw(records(pipelines.ALL_KINDS, max_size=10))
    cut = draw.draw(st.integers(0, len(drawn)))
    rows = moved(lambda emit: PipelineRun(pipelines.ALL_KINDS, emit), drawn, cut, process)
    assert rows == moved(lambda emit: PipelineRun(pipelines.ALL_KINDS, emit), drawn, 0, process)


VERTICES = (
    (READINGS, Vertex(name="jfm", type=LOADS, inputs=(0,), operator=JFM)),
    (ORDERED_LOADS, Vertex(name="li", type=ORDERED_LOADS, inputs=(0,), operator=LI)),
    (LOADS, Vertex(name="avg", type=LOADS, inputs=(0,), operator=AVG)),
    (LOADS, Vertex(name="SORT", type=ORDERED_LOADS, inputs=(0,))),
    (READINGS, Vertex(name="reading", type=READINGS)),
)


@pytest.mark.parametrize(("reads", "vertex"), VERTICES, ids=lambda it: getattr(it, "name", ""))
def test_a_vertex_resumes_from_the_state_of_another_run(reads, vertex):
    def to(emit):
        return start(vertex, lambda key, value: emit((key, value)))

    def process(run, element):
        if isinstance(element, Marker):
            run.marker(element)
        else:
            run.item(*element)

    @settings(max_examples=examples(60))
    @given(st.data())
    def holds(draw):
        drawn = draw.draw(sequences(reads))
        cut = draw.draw(st.integers(0, len(drawn)))
        assert moved(to, drawn, cut, process) == moved(to, drawn, 0, process)

    holds()
